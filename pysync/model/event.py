"""Event: one committed metastore change, as it travels (docs/wire-format.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

VERSION = 1
VISITED = "pysync.visited"  # the EnvironmentContext property that names the clusters a change has been to
USER = "user"  # the attribute that names who made the call
SIDECAR = "sidecar"  # the instance of events that the sidecar itself creates
_REPLICATOR = "pysync-"


class Kind(str, Enum):
    """What happened, in Hive's own words (`EventMessage.EventType`); the last four are pysync's own."""

    CREATE_DATABASE = "CREATE_DATABASE"
    ALTER_DATABASE = "ALTER_DATABASE"
    DROP_DATABASE = "DROP_DATABASE"
    CREATE_TABLE = "CREATE_TABLE"
    ALTER_TABLE = "ALTER_TABLE"
    DROP_TABLE = "DROP_TABLE"
    ADD_PARTITION = "ADD_PARTITION"
    ALTER_PARTITION = "ALTER_PARTITION"
    DROP_PARTITION = "DROP_PARTITION"
    INSERT = "INSERT"
    CREATE_FUNCTION = "CREATE_FUNCTION"
    DROP_FUNCTION = "DROP_FUNCTION"
    ADD_PRIMARYKEY = "ADD_PRIMARYKEY"
    ADD_FOREIGNKEY = "ADD_FOREIGNKEY"
    ADD_UNIQUECONSTRAINT = "ADD_UNIQUECONSTRAINT"
    ADD_NOTNULLCONSTRAINT = "ADD_NOTNULLCONSTRAINT"
    ADD_DEFAULTCONSTRAINT = "ADD_DEFAULTCONSTRAINT"
    ADD_CHECKCONSTRAINT = "ADD_CHECKCONSTRAINT"
    DROP_CONSTRAINT = "DROP_CONSTRAINT"
    CREATE_CATALOG = "CREATE_CATALOG"
    ALTER_CATALOG = "ALTER_CATALOG"
    DROP_CATALOG = "DROP_CATALOG"
    COLUMN_STATISTICS = "COLUMN_STATISTICS"  # were written or deleted: any of Hive 4's events of them
    TABLE_CHANGED = "TABLE_CHANGED"  # from a listener: a change of this table is too long to be sent, so read the table
    GOODBYE = "GOODBYE"  # from a listener: its metastore ends in order, and this is its last word
    REFRESH = "REFRESH"  # from the sidecar itself: read the object again, the events of it may not be all

    __hash__ = str.__hash__  # Enum's own is written in Python, and every event is looked up many times

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `table`, `before` and `after` hold the objects as the very bytes that HMS wrote."""

    kind: Kind
    source: str
    instance: str
    sequence: int
    time_ms: int
    notification_id: int | None = None
    catalog: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    table: bytes | None = None
    before: tuple[bytes, ...] = ()
    after: tuple[bytes, ...] = ()

    @property
    def id(self) -> str:
        """Unique for ever; the same if the listener sends the event again."""
        return f"{self.instance}:{self.sequence}"

    @property
    def size(self) -> int:
        """Bytes of its objects."""
        return sum(map(len, (self.table or b"", *self.before, *self.after)))

    @property
    def uncommitted(self) -> bool:
        """Whether HMS reported it inside an open transaction, which may still be rolled back."""
        return self.attributes.get("uncommitted") == "true"

    @property
    def outlives_its_table(self) -> bool:
        """Whether the table of an altered partition was gone or renamed when HMS looked for it.

        HMS reads the table after it has committed the alter, and sends none if another client was faster.
        """
        return self.kind is Kind.ALTER_PARTITION and not self.table and bool(self.before and self.after)

    @property
    def visited(self) -> tuple[str, ...]:
        """The clusters that the change has been to, its own source last.

        The EnvironmentContext of the call shows it. Hive's calls for functions and databases have none: then the user
        who made the call shows it (see `replicator`).
        """
        before = self.environment.get(VISITED) or self._path_of_user()
        return (*filter(None, before.split(",")), self.source) if before else (self.source,)

    @property
    def is_replicated(self) -> bool:
        """Whether a sidecar made the call, by its user."""
        return self._path_of_user() != ""

    def _path_of_user(self) -> str:
        user = self.attributes.get(USER, "")
        return user.removeprefix(_REPLICATOR) if user.startswith(_REPLICATOR) else ""


def replicator(visited: Sequence[str]) -> str:
    """The user for writes of a change that has been to these clusters, the writer's own last: `pysync-east,west`."""
    return _REPLICATOR + ",".join(visited)
