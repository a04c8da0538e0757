"""What a metastore's errors mean: the one place that sorts them into the kinds of pysync.targets.base."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.base.errors import PysyncError
from pysync.metastore.client import is_of_call
from pysync.metastore.errors import AnswerTooLarge, MetastoreCallFailed, MetastoreError, MetastoreUnavailable
from pysync.targets.answers import Answer, answer
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
call and from version to version: each may be a race with another client, so the operation is decided again once."""
_NO_TRANSACTIONS = (
    "a transactional table cannot be read without its transactions: exclude the table, or make it external"
)

_LOG_HINT = "see the log of the metastore"


def _meta(pattern: str) -> Callable[[Exception], bool]:
    """Whether it is a MetaException that says so. That is whatever went wrong in the server."""
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda error: isinstance(error, hive.MetaException) and compiled.search(_message_of(error)) is not None


def _is(*types: type[Exception]) -> Callable[[Exception], bool]:
    return lambda error: isinstance(error, types)


_is_modified = _meta("The table has been modified")
"""It is not what was read: only of an alter that names a parameter which has to be there (HmsStore.write_table)."""


def is_race(error: Exception) -> bool:
    """Whether another client may have changed something since it was read. It may be one of many that were refused."""
    cause = error.__cause__ if isinstance(error, Rejected) else error
    return isinstance(cause, REFUSALS) or (isinstance(cause, Exception) and _is_modified(cause))


_ANSWERS: Sequence[Answer[Exception]] = (
    Answer(_is(AnswerTooLarge), Rejected),
    # The server answered with an error of its own, and would again.
    Answer(lambda it: isinstance(it, MetastoreCallFailed) and is_of_call(it), PysyncError),
    Answer(_is(MetastoreCallFailed), OutcomeUnknown),
    Answer(_is(MetastoreUnavailable), Unavailable),
    Answer(_is(MetastoreError, *REFUSALS), Rejected),
    Answer(_is_modified, Unavailable, "pysync reads the table again; writers at the target may have to slow down"),
    # What Hive 4 says to whoever does not claim to be able to write transactional tables.
    Answer(_meta("cannot create an ACID table"), Rejected, _NO_TRANSACTIONS),
    # The location of a table or partition, which nobody mapped.
    Answer(_meta("No FileSystem for scheme"), Rejected, "map its location to one of the target's: locations"),
    # About the operation after all.
    Answer(_meta("Foreign key references|should be located within managed warehouse|ACID compliant format"), Rejected),
    # About its rights, or those of the user that we are to it.
    Answer(
        _meta(
            "AccessControlException|AuthorizationException|HiveAccessControlException|Permission denied|is not writable"
        ),
        Forbidden,
        _LOG_HINT,
    ),
    # About its own surroundings: its database, the file system. An unknown host is not: it is the location of one
    # table, which nobody mapped.
    Answer(
        _meta(
            "ConnectException|Connection (refused|reset|timed out)|NoRouteToHost|SocketTimeout|ConnectTimeout|"
            "SafeMode|safe mode|StandbyException|No space left|JDOFatal|Communications link|"
            "test connection|cannot get a connection|connection pool"
        ),
        Unavailable,
        _LOG_HINT,
    ),
    Answer(lambda _: True, PysyncError, _LOG_HINT),  # nobody has classified it
)


@contextmanager
def classified(action: str, *, reading: bool = False) -> Iterator[None]:
    """Turn the metastore's errors into those of a target; `action` describes the call and the place.

    Raises Unavailable, Rejected, OutcomeUnknown, or a plain PysyncError for an answer that nobody has classified.
    Where nothing could have been changed (`reading`), there is no unknown outcome: then it is Unavailable.
    """
    try:
        yield
    except (MetastoreError, TException) as error:
        classified_error = answer(_ANSWERS, error).error(action, _message_of(error), reading=reading)
        classified_error.hint = classified_error.hint or getattr(error, "hint", None)
        raise classified_error from error


def _message_of(error: Exception) -> str:
    return getattr(error, "message", None) or type(error).__name__
