"""A metastore as a target: its settings, its connections, one for each user, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from hmsclient.genthrift.hive_metastore import ttypes as hive
from pydantic import Field, model_validator
from thrift.Thrift import TException

from pysync.base.errors import PysyncError
from pysync.base.validation import Seconds
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore, is_of_call
from pysync.metastore.errors import MetastoreCallFailed, MetastoreError, MetastoreUnavailable
from pysync.metastore.settings import (
    AddressList,
    CatalogName,
    KerberosSettings,
    LoginSettings,
    TlsSettings,
    UserName,
    assert_one_login,
)
from pysync.model.event import replicator
from pysync.targets.base import Answer, Forbidden, OutcomeUnknown, Rejected, Unavailable, answer
from pysync.targets.settings import TargetSettings

# The settings of a target of kind `hms`.


class HmsSettings(TargetSettings):
    """A `[[targets]]` table of `kind = "hms"`."""

    has_listener = True
    has_trash = True

    kind: Literal["hms"]
    metastore: AddressList = Field(description="Address of the metastore: thrift://host:port, or several with commas.")
    tls: TlsSettings | None = Field(default=None, description="TLS settings. Default: plain thrift.")
    kerberos: KerberosSettings | None = Field(default=None, description="Kerberos login. Default: no login.")
    login: LoginSettings | None = Field(
        default=None, description="Login by password or token (Hive 4). Default: no login."
    )
    user: UserName | None = Field(
        default=None,
        description="User of the calls, if there is no login. Default with both_ways: pysync-SOURCE.",
    )
    catalogs: tuple[CatalogName, ...] = Field(
        default=(),
        description="Catalogs of the target that pysync writes in beside hive (Hive 3 and later). It creates them.",
    )
    statistics: Literal["off", "columns"] = Field(
        default="off", description="columns: replicate column statistics, too (docs/versions.md)."
    )
    timeout_seconds: Seconds = Field(default=120.0, gt=0, description="Timeout of a call.")
    connect_timeout_seconds: Seconds = Field(default=5.0, gt=0, description="Timeout for connecting.")

    def place(self) -> str | None:
        """The addresses of the metastore."""
        return self.metastore

    @property
    def written_catalogs(self) -> tuple[str, ...]:
        """As configured."""
        return self.catalogs

    @property
    def address(self) -> str:
        """As configured."""
        return self.metastore

    def credentials(self) -> tuple[TlsSettings | None, KerberosSettings | None]:
        """As configured."""
        return self.tls, self.kerberos

    @property
    def keeps_statistics(self) -> bool:
        """As configured."""
        return self.statistics == "columns"

    @model_validator(mode="after")
    def _check_one_login(self) -> HmsSettings:
        assert_one_login(self.metastore, self.kerberos, self.login)
        if self.user is not None and self.logs_in:
            raise ValueError("user does not work with kerberos or login: calls are made as the user that logs in")
        return self

    @model_validator(mode="after")
    def _check_catalogs(self) -> HmsSettings:
        if self.catalogs and self.both_ways:
            raise ValueError("catalogs does not work with both_ways = true: only the catalog hive goes both ways")
        if self.catalogs and self.drops == "trash":
            raise ValueError('catalogs does not work with drops = "trash": a table cannot leave its catalog')
        return self

    @property
    def logs_in(self) -> bool:
        """Whether the metastore asks who we are."""
        return self.kerberos is not None or self.login is not None

    def user_for(self, visited: Sequence[str]) -> str | None:
        """The user who writes what has been to these clusters, our own last; None: the metastore decides.

        A way over several clusters is always in the user's name, as some calls can carry it in nothing else.
        """
        if self.logs_in:
            return None
        if self.user is None:
            return super().user_for(visited)
        return self.user if len(visited) <= 1 else replicator(visited)

    def access(self) -> MetastoreAccess:
        """How to reach it."""
        return MetastoreAccess.of(self.metastore, self.tls, self.kerberos, self.login, catalogs=self.catalogs)


# What a metastore's errors mean: the one place that sorts them into the kinds of pysync.targets.base.


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


# The connections to one metastore: one for each user who writes there, as a connection keeps its user.


class Connections:
    """The connections by user. `connect` makes one for calls as that user (None: no particular one)."""

    def __init__(self, settings: TargetSettings, connect: Callable[[str | None], Metastore]) -> None:
        self._settings = settings
        self._connect = connect
        self._open: dict[str | None, Metastore] = {}
        self.are_swept = False
        """Whether functions that a crash has left (pysync.model.reread) were removed."""
        self._on_call: Callable[[str], object] | None = None

    def of(self, visited: Sequence[str]) -> Metastore:
        """The connection for writing what has been to these clusters; for reading if there are none."""
        user = self._settings.user_for(visited)
        if user not in self._open:
            self._open[user] = self._connect(user)
            self._open[user].on_call = self._on_call
        return self._open[user]

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each call that is sent from now on, by any user. For before the first."""
        self._on_call = on_call
        for metastore in self._open.values():
            metastore.on_call = on_call

    def known_by(self) -> str:
        """How the listener there distinguishes our calls from others'. Raises what reading the databases does."""
        some = (self._settings.name,)
        if not self._settings.both_ways:
            return ""
        if self._settings.user_for(some) is None:
            return "; its sidecar must have the login of pysync in [source] replicators"
        self.of(some).databases()
        return "; it accepts the user name of pysync"

    def close(self) -> None:
        """Close all of them; the next call opens one again."""
        for metastore in self._open.values():
            metastore.close()
