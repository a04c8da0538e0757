"""The settings that every kind of target has; each kind adds its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from pysync.base.errors import PysyncError
from pysync.base.throttle import Limit
from pysync.base.validation import Finite, Interval, Rate, Seconds, matching, rate
from pysync.model.event import Kind, replicator
from pysync.model.table_formats import TableFormat
from pysync.targets.source_hive import SourceHive
from pysync.targets.spark_request import SparkConfig, SparkRequest

if TYPE_CHECKING:
    from pysync.metastore.settings import KerberosSettings, TlsSettings

Name = Annotated[
    str,
    matching(
        r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}",
        "a valid name; use up to 64 letters, digits, underscores, dots and hyphens, beginning with a letter or digit",
    ),
]
"""A name of a source, cluster or target: it travels in parameters, file names and metrics."""

TableType = Literal["EXTERNAL_TABLE", "MANAGED_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW"]
"""The types of tables that a metastore has."""

_HOUR = 3600

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_DAY = 24 * 60
_CLOCK = "((?:[01][0-9]|2[0-3]):[0-5][0-9])"
_TIMES = re.compile(f"{_CLOCK}-{_CLOCK}")
_TRAITS = ("include_schemes", "include_types", "include_formats", "include_owners", "exclude_parameters", "where")


def _has_pattern(renames: dict[str, str]) -> bool:
    return any("*" in text for pair in renames.items() for text in pair)


def _minutes(text: str) -> tuple[int, int]:
    """The begin and end of `08:00-18:00`, in minutes since midnight. Raises ValueError for anything else."""
    match = _TIMES.fullmatch(text)
    if not match or match[1] == match[2]:
        raise ValueError(f"{text!r:.80} is not a time of day; write 08:00-18:00, or 22:00-06:00 for a night")
    first, last = (int(it[:2]) * 60 + int(it[3:]) for it in match.groups())
    return first, last


class CopySettings(BaseModel):
    """`[targets.copy]`: how the data files are copied (docs/copy.md); `copy = true` takes all as it is here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parallelism: int = Field(default=2, ge=1, le=4096, description="Number of Spark tasks that copy in parallel.")
    max_mb_per_second: Finite = Field(
        default=0.0, ge=0, description="Limit for all tasks together, MB = 10^6; 0: no limit."
    )
    compare: Literal["time", "size", "checksum"] = Field(
        default="time", description="How an unchanged file is recognized, besides its name and size."
    )
    settle_seconds: Seconds = Field(
        default=1.0, ge=0, description="Seconds the source must stay unchanged before a file is removed or replaced."
    )
    rewrite: Literal["parquet", "orc"] | None = Field(
        default=None,
        description="Format for re-encoding files that Spark can read. Default: files are copied as they are.",
    )
    iceberg: Literal["whole", "pointer"] = Field(
        default="whole",
        description="How Iceberg tables are copied: whole, with their paths in the metadata, by Iceberg's own code; "
        "pointer: byte for byte, so that the metadata at the target still names the files of the source.",
    )
    layout: Literal["in_place", "versioned"] = Field(
        default="in_place",
        description="How files of a table or partition change or go: in place, or, with versioned, by a new directory "
        "with all of them, to which the metadata then points, so that a reader sees no mixture.",
    )
    keep_for: Interval = Field(
        default=3600,
        ge=600,
        description="With layout = versioned: how long files stay that no metadata points to any more, for readers.",
    )


class PolicySettings(BaseModel):
    """What is taken, and what happens to it: settings of a target, and of each of its policies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: str | None = Field(
        default=None,
        description="What the target takes, as REPL DUMP has it: db, db.table, db.['include regex', …], or "
        "db.['include regex', …].['exclude regex', …].",
    )
    include: tuple[str, ...] = Field(default=(), description="What the target takes: db or db.table, with * and ?.")
    exclude: tuple[str, ...] = Field(default=(), description="What the target does not take, even if it is included.")
    include_schemes: tuple[str, ...] = Field(
        default=(),
        description="Schemes of locations that the target takes, after `locations`, with * and ?; tables elsewhere are "
        "not taken. Default: all.",
    )
    include_types: tuple[TableType, ...] = Field(
        default=(), description="Types of tables that the target takes. Default: all."
    )
    include_formats: tuple[TableFormat, ...] = Field(
        default=(), description="Formats of tables that the target takes. Default: all."
    )
    include_owners: tuple[str, ...] = Field(
        default=(), description="Owners of tables that the target takes, with * and ?. Default: all."
    )
    exclude_parameters: tuple[str, ...] = Field(
        default=(),
        description="Tables with one of these parameters are not taken: KEY or KEY=VALUE, each with * and ?.",
    )
    where: str | None = Field(
        default=None,
        description="Filter on partition keys, such as day >= '2026-01-01', or day >= current_date - 90 days; other "
        "partitions are not taken.",
    )
    exclude_kinds: tuple[Kind, ...] = Field(default=(), description="Event kinds that the target does not take.")
    databases: dict[str, str] = Field(
        default={}, description="Renames of databases: source = target; a '*' on both sides carries its text over."
    )
    tables: dict[str, str] = Field(
        default={}, description="Renames of tables: 'db.table' = 'db.table', with one '*' in each part at most."
    )
    locations: dict[str, str] = Field(
        default={}, description="Location prefixes: source = target. The longest match wins."
    )
    parameters: dict[str, str] = Field(default={}, description="Parameters that every table gets.")
    drop_parameters: tuple[str, ...] = Field(default=(), description="Table parameters to leave out, with * and ?.")
    drops: Literal["apply", "suppress", "trash"] = Field(
        default="apply",
        description="Whether drops are applied to the target. trash: a dropped table is kept in trash_database for a "
        "while (kind hms).",
    )

    @field_validator("locations")
    @classmethod
    def _prefixes_are_uris(cls, value: dict[str, str]) -> dict[str, str]:
        for prefix in (text for pair in value.items() for text in pair):
            if not _URI.match(prefix):
                raise ValueError(f"{prefix!r} is not a URI; write it as hdfs://nn/path or file:/path")
        return value

    @model_validator(mode="after")
    def _check_policy_or_include(self) -> PolicySettings:
        if self.policy is not None and self.include:
            raise ValueError("policy and include exclude each other; set only one of them")
        return self


class NamedPolicy(PolicySettings):
    """One `[[targets.policies]]` table: a target's settings for the objects that it takes."""

    name: Name = Field(description="Name of the policy; commands and messages show it.")

    @model_serializer(mode="wrap")
    def _dump_set_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A setting at its default is another than none, which has it from the target: a reload compares the two.
        return {key: it for key, it in dump(self).items() if key in self.model_fields_set}


class TargetSettings(PolicySettings):
    """One `[[targets]]` table of pysync.toml."""

    has_listener: ClassVar[bool] = False  # whether a kind can have pysync's listener, so that it can replicate back
    has_trash: ClassVar[bool] = False  # whether a kind can rename a table into another database and back
    unreadable_hint: ClassVar[str] = ""  # what to do about an `unreadable` location; "": the kind knows none

    _spark: SparkConfig = PrivateAttr(default_factory=SparkConfig)
    _source_hive: SourceHive = PrivateAttr(default_factory=SourceHive)

    name: Name = Field(
        description="Name of the target. The queue keeps its position by it: to change it, use pysync target rename."
    )
    kind: str = Field(description="Kind of the target: hms, glue, athena, spark, or another kind that is installed.")
    enabled: bool = Field(
        default=True,
        description="Whether the target gets changes. If not, they wait in the queue until it is enabled again.",
    )
    cluster: Name | None = Field(
        default=None,
        description="pysync.source.name of the target's own listener, if it has one. Changes from that cluster are not "
        "sent back to it. Default: the name of the target.",
    )
    both_ways: bool = Field(
        default=False,
        description="Whether the target's cluster replicates to this one, too, and changes may be made at both.",
    )
    policies: tuple[NamedPolicy, ...] = Field(
        default=(),
        description="Policies in order; the first that takes an object decides what happens to it. What a policy does "
        "not set comes from the target. Default: the target's settings are the only policy.",
    )
    copy_files: CopySettings | None = Field(
        default=None, alias="copy", description="Whether and how data files are copied before the metadata is written."
    )
    trash_database: Annotated[str, matching("[a-z0-9_]{1,128}", "the name of a database; use pysync_trash")] = Field(
        default="pysync_trash", description='Database of the target for dropped tables, with drops = "trash".'
    )
    trash_keep: Interval = Field(default=7 * 86400, description="How long dropped tables are kept there: 12h, 7d.")
    cascade: bool = Field(
        default=True,
        description="Whether the drop of a database also drops the tables that it still has at the target; false: such "
        "a drop is parked.",
    )
    max_drops_per_window: int = Field(
        default=1000,
        ge=0,
        description="More drops in one window, or by one comparison, are held; 0: no limit.",
    )
    max_drops: Rate = Field(
        default="10000 per 1h",
        description="More drops within that time are held; 0: no limit. If only max_drops_per_window is set, the "
        "default is that number per hour.",
    )
    max_drop_share: Finite = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Drops of a larger share of a database's tables, within the time of max_drops, are held; "
        "0: no limit.",
    )
    max_drop_share_from: int = Field(
        default=10, ge=1, description="Minimum number of tables in a database for max_drop_share."
    )
    out_of_scope: Literal["keep", "drop"] = Field(
        default="keep",
        description="Whether objects that this source created are kept or dropped when they leave the scope.",
    )
    delete_data: bool = Field(
        default=False, description="Whether a drop that deleted data at the source also deletes it at the target."
    )
    on_conflict: Literal["adopt", "skip", "park"] = Field(
        default="park", description="What to do if the target already has a table that is not from this source."
    )
    transactional: Literal["refuse", "metadata", "snapshot"] = Field(
        default="refuse",
        description="Transactional tables: snapshot makes external ones of them with the committed rows "
        "(docs/acid.md); metadata writes their definitions, although queries there return wrong rows.",
    )
    transactional_poll_seconds: Seconds = Field(
        default=30.0, ge=1, description="How often the source is asked for new commits, with transactional = snapshot."
    )
    last_id_every: Interval | None = Field(
        default=None,
        description="How often the parameter pysync.last.id of the target's databases is written: 1m, 1h "
        "(docs/verify.md). Default: never.",
    )
    max_calls_per_second: Finite = Field(
        default=0.0,
        ge=0,
        description="Limit of calls to the target for all lanes together, while changes are applied; 0: no limit.",
    )
    max_calls_at: dict[str, Annotated[Finite, Field(ge=0)]] = Field(
        default={},
        description="Other limits by the time of day, in the zone of this machine: '08:00-18:00' = calls per second.",
    )
    lanes: int = Field(default=4, ge=1, le=64, description="Number of threads that apply different tables in parallel.")
    window: int = Field(default=2000, ge=1, le=100_000, description="Number of events taken from the queue together.")
    retry_max_seconds: Seconds = Field(
        default=60.0, gt=0, description="Longest wait between two attempts while the target is unavailable."
    )
    retry_attempts: int = Field(
        default=5, ge=1, description="Attempts before an event with an unexpected error is parked."
    )
    parked_retry_seconds: Seconds = Field(
        default=300.0,
        ge=0,
        description="Longest wait before parked events are retried; 0: only at the start and by `pysync parked retry`.",
    )
    relay: bool = Field(
        default=True,
        description="With both_ways: whether the target also gets objects that were created at a third cluster.",
    )
    mode: Literal["apply", "shadow"] = Field(
        default="apply", description="shadow: plan and log, but write nothing. The position moves on."
    )

    def place(self) -> str | None:
        """What two targets have in common that write to one metastore or catalog; None if a kind cannot know."""
        return None

    # What only some kinds have; these override it.

    @property
    def written_catalogs(self) -> tuple[str, ...]:
        """The catalogs of the target that pysync writes in beside `hive`."""
        return ()

    @property
    def address(self) -> str | None:
        """The addresses of the metastore that is the target; None for other places."""
        return None

    def credentials(self) -> tuple[TlsSettings | None, KerberosSettings | None]:
        """What it shows to a metastore, and trusts in it."""
        return None, None

    @property
    def keeps_statistics(self) -> bool:
        """Whether column statistics are replicated."""
        return False

    @property
    def creates_databases(self) -> bool:
        """Whether a missing database is created for an object that is put into it."""
        return False

    def unreadable(self, location: str) -> str:  # noqa: ARG002
        """Why no engine reads files at this location of the target, so that pysync refuses it; "" if some may."""
        return ""

    @property
    def translates_views(self) -> bool:
        """Whether the texts of Hive's views are translated for other engines."""
        return False

    @property
    def reads_logs_every(self) -> int | None:
        """How often the columns of lake tables are read from their logs (s); None: never."""
        return None

    @property
    def mapped_prefixes(self) -> tuple[str, ...]:
        """The places at the target below which the locations of the source are mapped, by any policy."""
        return tuple(place for _, policy in self.each_policy() for place in policy.locations.values())

    def each_policy(self) -> tuple[tuple[str, TargetSettings], ...]:
        """Each policy's name and its settings; without policies the target's own settings, without a name."""
        return tuple((it.name, self._with(it)) for it in self.policies) or (("", self),)

    def _with(self, policy: NamedPolicy) -> TargetSettings:
        given = {key: getattr(policy, key) for key in policy.model_fields_set - {"name"}}
        # The two say the same in different forms, so either replaces both.
        chosen = {"policy": None, "include": ()} if {"policy", "include"} & given.keys() else {}
        return self.model_copy(update={**chosen, **given, "policies": ()})

    def user_for(self, visited: Sequence[str]) -> str | None:
        """The user for writes of a change that has been to these clusters, our own last; None: the default user.

        For calls without an EnvironmentContext nothing else shows the path of a change.
        """
        return replicator(visited) if self.both_ways and visited else None

    @model_validator(mode="after")
    def _check_drops_out_of_scope(self) -> TargetSettings:
        if self.out_of_scope == "drop" and self.drops == "suppress":
            raise ValueError('out_of_scope = "drop" contradicts drops = "suppress"; set only one of them')
        return self

    @model_validator(mode="after")
    def _check_policy_names(self) -> TargetSettings:
        names = [it.name for it in self.policies]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two policies have the name {name!r}")
        return self

    @model_validator(mode="after")
    def _check_trash(self) -> TargetSettings:
        of_policies = {it.drops for it in self.policies if "drops" in it.model_fields_set}
        if "trash" in of_policies or (self.drops == "trash" and "apply" in of_policies):
            raise ValueError('drops = "trash" is a setting of the whole target: a policy can set "suppress" only')
        if self.drops != "trash":
            return self
        if not self.has_trash:
            raise ValueError(f'drops = "trash": a target of kind {self.kind!r} has no trash')
        if self.both_ways:
            raise ValueError('drops = "trash" does not work with both_ways = true: the other end would get the trash')
        if self.delete_data:
            raise ValueError(
                'drops = "trash" does not work with delete_data = true: a table is restored with its files'
            )
        return self

    @model_validator(mode="after")
    def _converts_transactional_tables(self) -> TargetSettings:
        converts = self.copy_files is not None and self.copy_files.rewrite is not None
        if self.transactional == "snapshot" and not converts:
            raise ValueError('transactional = "snapshot" needs copy.rewrite: the rows are written anew')
        return self

    @model_validator(mode="after")
    def _can_go_both_ways(self) -> TargetSettings:
        if not self.both_ways:
            return self
        if not self.has_listener:
            raise ValueError(f"both_ways = true: a target of kind {self.kind!r} cannot replicate back")
        if not self.cascade:
            raise ValueError("both_ways = true does not work with cascade = false: the two ends would not become equal")
        if self.last_id_every is not None:
            raise ValueError("both_ways = true does not work with last_id_every: each write would be replicated back")
        if self.policies:
            raise ValueError("both_ways = true does not work with policies: set one policy or include")
        if patterns := [key for key in ("databases", "tables") if _has_pattern(getattr(self, key))]:
            raise ValueError(f"both_ways = true does not work with a '*' in {', '.join(patterns)}: write each name")
        if traits := [key for key in _TRAITS if getattr(self, key)]:
            raise ValueError(f"both_ways = true does not work with {', '.join(traits)}: use include and exclude")
        lossy = [key for key in ("parameters", "drop_parameters") if getattr(self, key)]
        if self.copy_files is not None and self.copy_files.rewrite:
            lossy.append("copy.rewrite")
        if self.copy_files is not None and self.copy_files.layout == "versioned":
            lossy.append('copy.layout = "versioned"')
        if lossy:
            raise ValueError(
                f"both_ways = true does not work with {', '.join(lossy)}: their effect would look like a change at the "
                "target"
            )
        return self

    @property
    def drops_over_time(self) -> tuple[int, float]:
        """How many drops are allowed within how many seconds; (0, …) is no limit."""
        count, seconds = rate(self.max_drops) or (0, _HOUR)
        # Whoever sets a limit for a window knows nothing of windows: drops one by one must not pass it.
        if "max_drops_per_window" in self.model_fields_set and "max_drops" not in self.model_fields_set:
            return self.max_drops_per_window, seconds
        return count, seconds

    def spark_request(self) -> SparkRequest | None:
        """The Spark session that it needs; None if it needs no Spark."""
        return SparkRequest.of(self._spark, self.copy_files.parallelism) if self.copy_files else None

    def use_spark(self, spark: SparkConfig) -> None:
        """Have the target use the session of this `[spark]`, that of its pysync.toml."""
        self._spark = spark

    @property
    def source_hive(self) -> SourceHive:
        """The Hive whose views the target gets."""
        return self._source_hive

    def use_source_hive(self, hive: SourceHive) -> None:
        """Have the target read views as that Hive does."""
        self._source_hive = hive

    @property
    def call_limit(self) -> Limit:
        """How many calls a second its lanes may make."""
        return Limit(self.max_calls_per_second, {_minutes(text): it for text, it in self.max_calls_at.items()})

    @field_validator("max_calls_at")
    @classmethod
    def _times_do_not_overlap(cls, value: dict[str, float]) -> dict[str, float]:
        taken: set[int] = set()
        for text in value:
            first, last = _minutes(text)
            minutes = set(range(first, last) if first < last else [*range(first, _DAY), *range(last)])
            if taken & minutes:
                raise ValueError(f"{text!r} overlaps with another time")
            taken |= minutes
        return value

    @field_validator("copy_files", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """`copy = true` and `copy = false`."""
        if isinstance(value, bool):
            return {} if value else None
        return value


def assert_enabled(settings: TargetSettings) -> None:
    """Raises PysyncError for a target that is disabled."""
    if not settings.enabled:
        name = settings.name
        raise PysyncError(f"target {name} is disabled", f"first run: pysync target enable {name}")
