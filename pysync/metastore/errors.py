"""How a call to a metastore fails.

PysyncError
└── MetastoreError               no answer; the connection has been thrown away
    ├── MetastoreUnavailable     nothing was sent: no address answers, TLS or the login failed
    ├── MetastoreCallFailed      the request went out and no usable answer came back
    ├── MetastoreUnsupported     the metastore does not know the call
    └── MetastoreRequestInvalid  the arguments cannot be written
"""

from __future__ import annotations

from thrift.Thrift import TApplicationException

from pysync.errors import PysyncError


class MetastoreError(PysyncError):
    """A call got no answer from a metastore; the connection has been thrown away."""


class MetastoreUnavailable(MetastoreError):
    """There is no connection that can be used, so nothing was carried out: try again later."""


class MetastoreCallFailed(MetastoreError):
    """The request went out and no usable answer came back: it may or may not have been carried out."""


_OF_CALLS = (TApplicationException.INTERNAL_ERROR, TApplicationException.PROTOCOL_ERROR)


def is_of_call(error: BaseException) -> bool:
    """Whether the metastore answered with an error about this one call, as it would again.

    It failed in the call, or cannot decode its arguments. Any other failure after the request went out, an answer that
    is no thrift for example, is about the metastore.
    """
    cause = error.__cause__
    return isinstance(cause, TApplicationException) and cause.type in _OF_CALLS


class MetastoreUnsupported(MetastoreError):
    """The metastore's version of Hive does not know the call."""


class MetastoreRequestInvalid(MetastoreError):
    """The arguments cannot be written as thrift (a number too large for its type), so nothing was sent."""
