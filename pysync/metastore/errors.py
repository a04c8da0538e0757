"""How a call to a metastore fails.

PysyncError
└── MetastoreError               no answer; the connection has been thrown away
    ├── MetastoreUnavailable     nothing was sent: no address answers, TLS or the login failed
    ├── MetastoreCallFailed      the request went out and no usable answer came back
    │   └── AnswerTooLarge       because it has more than is taken of one answer
    ├── MetastoreUnsupported     the metastore does not know the call
    └── MetastoreRequestInvalid  the arguments cannot be written
"""

from __future__ import annotations

from pysync.base.errors import PysyncError


class MetastoreError(PysyncError):
    """A call got no answer from a metastore; the connection has been thrown away."""


class MetastoreUnavailable(MetastoreError):
    """There is no connection that can be used, so nothing was carried out: try again later."""


class MetastoreCallFailed(MetastoreError):
    """The request went out and no usable answer came back: it may or may not have been carried out."""


class AnswerTooLarge(MetastoreCallFailed):
    """The answer to this one call has more bytes, or more elements, than are taken: the metastore may be well."""


class MetastoreUnsupported(MetastoreError):
    """The metastore's version of Hive does not know the call."""


class MetastoreRequestInvalid(MetastoreError):
    """The arguments cannot be written as thrift (a number too large for its type), so nothing was sent."""
