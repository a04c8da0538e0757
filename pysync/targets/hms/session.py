"""What every operation on a metastore needs: the connection, the settings, and what travels with each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes as hive
from pydantic import Field, model_validator

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.settings import AddressList, KerberosSettings, LoginSettings, TlsSettings, assert_one_login
from pysync.model.event import VISITED, replicator
from pysync.model.iceberg import written
from pysync.model.mark import Mark
from pysync.model.operation import Operation
from pysync.model.structs import copied
from pysync.targets.base import Missing, MissingDatabase, Outcome, Rejected
from pysync.targets.settings import TargetSettings

PARTITIONS_PER_CALL = 500
"""As many as HMS 2.3 adds within a second or drops within two, far from its 100 MB a message."""

T = TypeVar("T")


class HmsSettings(TargetSettings):
    """A `[[targets]]` table of `kind = "hms"`."""

    goes_both_ways = True

    kind: Literal["hms"]
    metastore: AddressList = Field(description="its address: thrift://host:port, or several with commas")
    tls: TlsSettings | None = Field(default=None, description="how to speak TLS with it; plain thrift unless given")
    kerberos: KerberosSettings | None = Field(default=None, description="how to log in there; no login unless given")
    login: LoginSettings | None = Field(default=None, description="the same by a password or token (Hive 4)")
    user: str | None = Field(
        default=None,
        min_length=1,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        description="who its calls are made as, where nobody logs in; with both_ways unless given pysync-SOURCE",
    )
    statistics: Literal["off", "columns"] = Field(
        default="off", description="columns: column statistics are carried, too (docs/versions.md)"
    )
    timeout_seconds: float = Field(default=120.0, gt=0, description="the longest wait for an answer")
    connect_timeout_seconds: float = Field(default=5.0, gt=0, description="the longest wait for a connection")

    @model_validator(mode="after")
    def _logs_in_in_one_way(self) -> HmsSettings:
        assert_one_login(self.metastore, self.kerberos, self.login)
        if self.user is not None and self.logs_in:
            raise ValueError("user does not go with kerberos or login: its calls are made as who logs in")
        return self

    @property
    def logs_in(self) -> bool:
        """Whether the metastore asks who we are."""
        return self.kerberos is not None or self.login is not None

    def user_for(self, visited: Sequence[str]) -> str | None:
        """Who writes what has been to these clusters, our own last; None: the metastore decides.

        A way of several is always told by the name: some calls can tell it by nothing else.
        """
        if self.logs_in:
            return None
        if self.user is not None and len(visited) <= 1:
            return self.user
        return replicator(visited) if visited and (self.both_ways or self.user) else None

    def access(self) -> MetastoreAccess:
        """How to reach it."""
        return MetastoreAccess.of(self.metastore, self.tls, self.kerberos, self.login)


@dataclass(frozen=True, slots=True)
class Session:
    """One connection to the target's metastore and the settings that decide what may be done there."""

    hms: Metastore
    settings: TargetSettings
    others: Sessions | None = None

    @property
    def cluster(self) -> str:
        """The name of the target's own source, where it has one."""
        return self.settings.cluster or self.settings.name

    def on_behalf_of(self, visited: Sequence[str]) -> Session:
        """The session whose calls are told of as those of a change that has been to these clusters."""
        return self if self.others is None else self.others.of(visited)

    def conflict(self, what: str) -> Outcome | None:
        """What to answer about something that is not its source's; None: adopt it. Raises Rejected to park it."""
        if self.settings.on_conflict == "adopt":
            return None
        if self.settings.on_conflict == "skip":
            return Outcome.FOREIGN
        raise Rejected(
            f"{what} is at the target {self.settings.name!r} already and not from this source",
            'drop it there, or set on_conflict = "adopt" or "skip"',
        )

    def deletes(self, requested: bool) -> bool:
        """Whether a drop deletes files: only if it did so at the source and the target is allowed to."""
        return requested and self.settings.delete_data


class Sessions:
    """The connections to one target: one for each user who writes there, as a metastore lets nobody change his name.

    `connect` opens one for calls as that user (None: as nobody in particular); it may well connect later.
    """

    def __init__(self, settings: TargetSettings, connect: Callable[[str | None], Metastore]) -> None:
        self._settings = settings
        self._connect = connect
        self._open: dict[str | None, Session] = {}

    @property
    def both_ways(self) -> bool:
        """Whether the target replicates back."""
        return self._settings.both_ways

    def of(self, visited: Sequence[str]) -> Session:
        """The one for what has been to these clusters; none of them: for reading."""
        user = self._settings.user_for(visited)
        if user not in self._open:
            self._open[user] = Session(self._connect(user), self._settings, self)
        return self._open[user]

    def known_by(self) -> str:
        """How the listener there can tell our calls from others'. Raises what reading the databases does."""
        some = (self._settings.name,)
        if not self._settings.both_ways:
            return ""
        if self._settings.user_for(some) is None:
            return ", whose sidecar must know our login: [source] replicators"
        self.of(some).hms.databases()
        return ", which takes our name"

    def close(self) -> None:
        """Close all of them; the next call opens one again."""
        for session in self._open.values():
            session.hms.close()


def missing(session: Session, what: str, kind: type[Missing] = Missing) -> Missing:
    """The error to raise where `what` would have to be there."""
    return kind(
        f"{what} is not at the target {session.settings.name!r}",
        "was its creation parked, suppressed or left out? put it there, then retry",
    )


@contextmanager
def within(session: Session, database: str) -> Iterator[None]:
    """Where something is written into a database: turns the refusal into Missing if the database is not there."""
    try:
        yield
    except (hive.InvalidObjectException, hive.InvalidOperationException, hive.NoSuchObjectException) as error:
        if session.hms.database(database) is None:
            raise missing(session, f"database {database}", MissingDatabase) from error
        raise


def environment(operation: Operation, properties: Mapping[str, str] | None = None) -> Any:
    """The EnvironmentContext of a call: where the change has been, and that its statistics are to be kept.

    Without DO_NOT_UPDATE_STATS an alter lists the directory and overwrites numFiles and totalSize (HMS 2.3 to 4.0).
    """
    visited = {VISITED: ",".join(operation.visited)} if operation.visited else {}
    return hive.EnvironmentContext({**visited, "DO_NOT_UPDATE_STATS": "true", **(properties or {})})


def stamped(definition: Any, mark: Mark) -> Any:
    """A copy of a database or table that carries the mark."""
    copy = copied(definition)
    copy.parameters = {**(copy.parameters or {}), **mark.parameters(), **written(copy.parameters)}
    return copy


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items, as many at a time as go into one call."""
    for start in range(0, len(items), PARTITIONS_PER_CALL):
        yield items[start : start + PARTITIONS_PER_CALL]
