"""pysync.toml as pydantic models: an unknown key is an error that names it, and all errors come at once."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from pysync.errors import UsageError
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.settings import AddressList, KerberosSettings, LoginSettings, TlsSettings, assert_one_login
from pysync.replay.translate import Translator
from pysync.targets.kinds import target_kind
from pysync.targets.settings import Name, SparkConf, SparkWish, TargetSettings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

M = TypeVar("M", bound=BaseModel)

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceConfig(_Section):
    """`[source]`: the metastore that events come from."""

    name: Name = Field(description="the same as `pysync.source.name` in its hive-site.xml; travels with every event")
    metastore: AddressList | None = Field(
        default=None,
        description="its address, thrift://host:9083, or several with commas: where what events do not tell is read",
    )
    tls: TlsSettings | None = Field(default=None, description="how to speak TLS with it; plain thrift unless given")
    kerberos: KerberosSettings | None = Field(default=None, description="how to log in there; no login unless given")
    login: LoginSettings | None = Field(default=None, description="the same by a password or token (Hive 4)")
    capture: Literal["listener", "notification-log"] = Field(
        default="listener", description="how changes come in: the listener tells, or the notification log is polled"
    )
    poll_seconds: float = Field(default=1.0, gt=0, description="how often the notification log is polled")
    silence_seconds: float = Field(
        default=15.0, ge=5, description="a listener that says nothing for so long, and no goodbye before, is a gap"
    )
    compare_tables_per_second: float = Field(
        default=200.0, gt=0, description="the budget for closing gaps: tables read at the source and each target"
    )

    @model_validator(mode="after")
    def _knows_what_to_poll(self) -> SourceConfig:
        if self.capture == "notification-log" and self.metastore is None:
            raise ValueError('capture = "notification-log" needs the address of the metastore: set metastore')
        return self

    @model_validator(mode="after")
    def _logs_in_in_one_way(self) -> SourceConfig:
        if self.metastore is not None:
            assert_one_login(self.metastore, self.kerberos, self.login)
        return self

    def access(self) -> MetastoreAccess | None:
        """How to reach it, for all connections to share; None if it is not known."""
        if self.metastore is None:
            return None
        return MetastoreAccess.of(self.metastore, self.tls, self.kerberos, self.login)


class BridgeConfig(_Section):
    """`[bridge]`: where the listener calls. Always on 127.0.0.1."""

    port: int = Field(default=25333, ge=0, le=65535, description="0 takes a free one")
    token_file: Path = Field(default=Path("/etc/pysync/token"), description="mode 0600; make one with `pysync token`")


class QueueConfig(_Section):
    """`[queue]`: where events are kept until every target has them."""

    directory: Path = Field(default=Path("/var/lib/pysync"), description="on a local disk; only pysync may read it")
    min_free_mb: int = Field(default=256, ge=0, description="below this much free disk no event is taken in")
    retain: str = Field(
        default="0s",
        pattern=r"^(0|[1-9][0-9]*)(s|m|h|d)$",
        description="how long events are kept after they came, though every target has them: 12h, 7d; for history",
    )

    @property
    def retain_seconds(self) -> int:
        """How long events are kept for history."""
        return int(self.retain[:-1]) * _UNITS[self.retain[-1]]


class VerifyConfig(_Section):
    """`[verify]`: whether the sidecar compares source and targets by itself, and at what pace."""

    every: str | None = Field(
        default=None,
        pattern=r"^[1-9][0-9]*(s|m|h|d)$",
        description="how often: 30m, 1h, 1d; unset: only `pysync verify` does",
    )
    tables_per_second: float = Field(default=20.0, gt=0, description="how many tables it looks at, at most")

    @property
    def seconds(self) -> float | None:
        """The time between the beginnings of two comparisons."""
        return None if self.every is None else int(self.every[:-1]) * _UNITS[self.every[-1]]


class WebConfig(_Section):
    """`[web]`: metrics and health over HTTP. Always on 127.0.0.1."""

    port: int | None = Field(
        default=None, ge=0, le=65535, description="where /metrics and /health are; 0 takes a free one; unset: nowhere"
    )


class SparkConfig(_Section):
    """`[spark]`: the session over which `pysync verify --on-spark` is spread."""

    master: str | None = Field(
        default=None, description="yarn, spark://host:7077, …; unset: as the target's `copy` says, else local[*]"
    )
    settings: SparkConf = Field(default={}, description="further settings of Spark; unset: those of `copy`")


class LogConfig(_Section):
    """`[log]`: what is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


class _Sections(_Section):
    source: SourceConfig
    bridge: BridgeConfig = BridgeConfig()
    queue: QueueConfig = QueueConfig()
    verify: VerifyConfig = VerifyConfig()
    web: WebConfig = WebConfig()
    spark: SparkConfig = SparkConfig()
    log: LogConfig = LogConfig()


class Config(_Sections):
    """The whole configuration."""

    targets: tuple[SerializeAsAny[TargetSettings], ...] = Field(min_length=1)


def load_config(path: Path, *, lives: bool = True) -> Config:
    """The configuration in a TOML file; where what is read is no source that `lives`, its address may be missing.

    Raises UsageError with every problem, one a line, each with the key that it is about.
    """
    tables = _read(path)
    problems: list[str] = []
    listed = _listed(tables.pop("targets", []), problems)
    sections = _checked(_Sections, tables, "", problems)
    found = [_target(table, f"targets[{at}]", problems) for at, table in enumerate(listed)]
    targets = tuple(target for target in found if target)
    for at, target in enumerate(found):
        problems += _untranslatable(target, f"targets[{at}]") if target else []
    problems += _twins([table["name"] for table in listed if isinstance(table, dict) and "name" in table])
    problems += _echoes(sections, targets)
    problems += _uncopied(sections, targets, lives=lives)
    if problems or sections is None:
        raise UsageError("\n".join(f"{path}: {problem}" for problem in problems))
    return Config(**dict(sections), targets=targets)


def read_token(path: Path) -> str:
    """The bridge's token. Raises UsageError when the file is missing, empty, or readable by others."""
    hint = f"make one: pysync token {path}"
    try:
        mode = path.stat().st_mode
        token = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise UsageError(f"the token file {path} does not exist", hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the token file {path}: {error}", hint) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"the token file {path} can be read by others", f"chmod 600 {path}")
    if len(token) < 16 or not token.isprintable() or " " in token:
        raise UsageError(f"the token file {path} holds no token of at least 16 characters", hint)
    return token


def _read(path: Path) -> dict[str, Any]:
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "name a file: -c pysync.toml") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    return tables


def _listed(value: Any, problems: list[str]) -> list[Any]:
    """The tables of `[[targets]]`."""
    if isinstance(value, list) and value:
        return value
    problems.append("targets: missing: name at least one [[targets]], in double brackets")
    return []


def _target(table: Any, where: str, problems: list[str]) -> TargetSettings | None:
    """The settings of one target, by the model that its kind brings."""
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        problems.append(f"{where}.kind: missing")
        return None
    try:
        model = target_kind(table["kind"]).settings
    except UsageError as error:
        problems.append(f"{where}.kind: {error}")
        return None
    return _checked(model, table, where, problems)


def _untranslatable(target: TargetSettings, where: str) -> list[str]:
    """Patterns and renames that cannot be read: the first of each key."""
    problems = []
    for key in ("policy", "include", "exclude", "tables"):
        alone = {"name": target.name, "kind": target.kind, key: getattr(target, key)}
        try:
            Translator.of(TargetSettings(**alone))
        except UsageError as error:
            problems.append(f"{where}.{key}: target {target.name!r}: {error}")
    return problems


def _checked(model: type[M], table: dict[str, Any], where: str, problems: list[str]) -> M | None:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problems += [f"{_key(where, item['loc'])}: {_what(item)}" for item in error.errors()]
        return None


def _key(where: str, location: tuple[int | str, ...]) -> str:
    """`targets[0].locations`: the key as a person finds it in the file."""
    text = where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".")


def _what(item: Any) -> str:
    if item["type"] == "extra_forbidden":
        return "unknown key"
    if item["type"] == "missing":
        return "missing"
    return str(item["msg"]).removeprefix("Value error, ")


def _echoes(sections: _Sections | None, targets: tuple[TargetSettings, ...]) -> list[str]:
    """Targets that take the source for themselves: every change has been there, so they would get nothing."""
    source = sections.source.name if sections else ""
    return [
        f"targets: {target.name!r} has the source's name as its cluster (or name): it would get nothing"
        for target in targets
        if (target.cluster or target.name) == source
    ]


def _uncopied(sections: _Sections | None, targets: tuple[TargetSettings, ...], *, lives: bool) -> list[str]:
    """What keeps files from being copied: inserts tell too little, and one sidecar has one Spark."""
    found = [target for target in targets if target.copy_files is not None]
    problems = _sparks([wish for target in targets if (wish := target.spark_wish())])
    if lives and found and sections is not None and sections.source.metastore is None:
        problems.append("source.metastore: missing: targets with copy read there what was inserted into")
    return problems


def _sparks(wishes: list[SparkWish]) -> list[str]:
    """Why one Spark session will not do for all of them; where one has a catalog, who only copies must not mind it."""
    catalogs = {wish for wish in wishes if wish.catalog}
    others = {wish for wish in wishes if not wish.catalog}
    if len(catalogs) > 1:
        return ["targets.metastore, .master, .spark: not the same for all targets of kind spark"]
    if catalogs and any(not wish.is_any for wish in others):
        return [
            "targets.copy.master, .spark: one sidecar has one Spark, that of the target of kind spark: set them there"
        ]
    if not catalogs and len(others) > 1:
        return ["targets.copy.master, .spark: not the same for all targets"]
    return []


def _twins(names: list[Any]) -> list[str]:
    twins = sorted({name for name in names if isinstance(name, str) and names.count(name) > 1})
    return [f"targets: the name {name!r} is given twice: every target needs its own" for name in twins]
