"""What a metastore's errors mean: the one place that sorts them into the kinds of pysync.targets.base."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException, TException

from pysync.errors import PysyncError
from pysync.metastore.errors import MetastoreCallFailed, MetastoreError, MetastoreUnavailable
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable

REFUSALS = (
    hive.AlreadyExistsException,
    hive.InvalidInputException,
    hive.InvalidObjectException,
    hive.InvalidOperationException,
    hive.NoSuchObjectException,
    hive.UnknownDBException,
    hive.UnknownTableException,
)
"""Answers about the operation itself. Which of them says that something is missing or in the way differs from call to
call and from version to version: each may be a race with another client, so the operation is decided anew once."""

_LONGEST = 500  # characters: a message travels in logs, in status and on the web page

# A MetaException is whatever went wrong in the server. These are about its own surroundings: its database, the file
# system, its rights there. An unknown host is not: it is the location of one table, which nobody mapped.
_SURROUNDINGS = re.compile(
    r"ConnectException|Connection (refused|reset|timed out)|NoRouteToHost|SocketTimeout|ConnectTimeout|"
    r"SafeMode|safe mode|StandbyException|No space left|JDOFatal|Communications link|"
    r"test connection|cannot get a connection|connection pool",
    re.IGNORECASE,
)

_NO_TRANSACTIONS = "a transactional table is of no use without its transactions: exclude it, or make it an external one"

# What Hive 4 says to whoever does not claim to be able to write transactional tables.
_TRANSACTIONAL = re.compile(r"cannot create an ACID table", re.IGNORECASE)

# About its rights, or those of the user that we are to it.
_FORBIDDEN = re.compile(
    r"AccessControlException|AuthorizationException|HiveAccessControlException|Permission denied|is not writable",
    re.IGNORECASE,
)

# MetaExceptions that are about the operation after all.
_REFUSED = re.compile(r"Foreign key references|should be located within managed warehouse", re.IGNORECASE)


@contextmanager
def classified(what: str, *, reading: bool = False) -> Iterator[None]:
    """Turn the metastore's errors into those of a target; `what` says what was tried, and where.

    Raises Unavailable, Rejected, OutcomeUnknown, or a plain PysyncError for an answer that nobody has classified.
    Where nothing could have been changed (`reading`), there is no unknown outcome: then it is Unavailable.
    """
    try:
        yield
    except MetastoreError as error:
        raise _of_connection(error, what, reading) from error
    except REFUSALS as error:
        raise Rejected(_line(f"{what}: {_said(error)}")) from error
    except hive.MetaException as error:
        if _TRANSACTIONAL.search(_said(error)):
            raise Rejected(_line(f"{what}: {_said(error)}"), _NO_TRANSACTIONS) from error
        if _REFUSED.search(_said(error)):
            raise Rejected(_line(f"{what}: {_said(error)}")) from error
        raise _kind(_said(error))(_line(f"{what}: {_said(error)}"), "the metastore's log has more") from error
    except TException as error:
        raise PysyncError(_line(f"{what}: {_said(error)}"), "the metastore's log has more") from error


def _kind(said: str) -> type[PysyncError]:
    if _FORBIDDEN.search(said):
        return Forbidden
    return Unavailable if _SURROUNDINGS.search(said) else PysyncError


def _of_connection(error: MetastoreError, what: str, reading: bool) -> PysyncError:
    if isinstance(error.__cause__, TApplicationException) and isinstance(error, MetastoreCallFailed):
        kind: type[PysyncError] = PysyncError  # the server answered with an error of its own, and would again
    elif isinstance(error, MetastoreCallFailed):
        kind = Unavailable if reading else OutcomeUnknown
    else:
        kind = Unavailable if isinstance(error, MetastoreUnavailable) else Rejected
    return kind(_line(f"{what}: {error.message}"), error.hint)


def _said(error: TException) -> str:
    return getattr(error, "message", None) or type(error).__name__


def _line(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
