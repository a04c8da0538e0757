"""The sections of pysync.toml without its targets, and its outline."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.base.toml_file import checked, read_text, refusal, tables_in
from pysync.base.validation import AccountName, Duration, Finite, HostName, Interval, PlainPath, Seconds
from pysync.base.zones import time_zones
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.settings import (
    AddressList,
    KerberosSettings,
    LoginSettings,
    TlsSettings,
    assert_one_login,
)
from pysync.targets.settings import Name
from pysync.targets.source_hive import Known, SourceHive
from pysync.targets.spark_request import SparkConfig


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{quoted(text)} is not an IP address; write 127.0.0.1, 10.0.0.5 or 0.0.0.0") from None


def _time_zone(text: str) -> str:
    if text not in time_zones():
        raise ValueError(f"{quoted(text)} is not a time zone; write Europe/Oslo, America/New_York or UTC")
    return text


TimeZone = Annotated[str, AfterValidator(_time_zone)]
"""A name of the tz database."""

Host = Annotated[str, AfterValidator(_host)]
"""An address of this machine."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceConfig(_Section):
    """`[source]`: the metastore that events come from."""

    name: Name = Field(
        description="Name of the source, the same as pysync.source.name in its hive-site.xml. Every event has it."
    )
    metastore: AddressList | None = Field(
        default=None,
        description="Address, thrift://host:9083, or several with commas. pysync reads objects there that an event "
        "does not describe.",
    )
    tls: TlsSettings | None = Field(default=None, description="TLS settings. Default: plain thrift.")
    kerberos: KerberosSettings | None = Field(default=None, description="Kerberos login. Default: no login.")
    login: LoginSettings | None = Field(
        default=None, description="Login by password or token (Hive 4). Default: no login."
    )
    capture: Literal["listener", "notification-log"] = Field(
        default="listener",
        description="Where changes come from: the listener, or the notification log, which is polled.",
    )
    hive_version: Known | None = Field(
        default=None,
        description="The version of Hive that runs the queries of views. Versions read strings as numbers and dates, "
        "and order NULLs, in ways of their own. Default: that of the metastore, as the listener reports it. If it is "
        'not known, or "unknown", only views that all versions read alike are translated for Athena.',
    )
    hive_time_zone: TimeZone | None = Field(
        default=None,
        description="The time zone of the sessions that run the queries of views: Europe/Oslo, UTC. Default: views "
        "whose rows depend on it are not translated for Athena.",
    )
    replicators: dict[Annotated[str, StringConstraints(min_length=1)], Name] = Field(
        default={},
        description="Users that write here for other clusters: user = cluster. A user pysync-NAME needs no entry.",
    )
    poll_seconds: Seconds = Field(default=1.0, gt=0, description="Seconds between two polls of the notification log.")
    silence_seconds: Seconds = Field(
        default=15.0,
        ge=5,
        description="A listener that does not report for this time, and reported no shutdown, opens a gap.",
    )
    compare_tables_per_second: Finite = Field(
        default=200.0, gt=0, description="Limit for closing gaps: tables read at the source and at each target."
    )

    @model_validator(mode="after")
    def _knows_what_to_poll(self) -> SourceConfig:
        if self.capture == "notification-log" and self.metastore is None:
            raise ValueError('capture = "notification-log" needs the address of the metastore; set metastore')
        return self

    @model_validator(mode="after")
    def _logs_in_in_one_way(self) -> SourceConfig:
        if self.metastore is not None:
            assert_one_login(self.metastore, self.kerberos, self.login)
        return self

    def access(self, catalogs: Iterable[str] = ()) -> MetastoreAccess | None:
        """How to reach it, for all connections to share; None if it is not known.

        `catalogs` are those whose databases are listed beside those of `hive`.
        """
        if self.metastore is None:
            return None
        return MetastoreAccess.of(self.metastore, self.tls, self.kerberos, self.login, catalogs=tuple(catalogs))

    def hive(self, found: Callable[[], str | None]) -> SourceHive:
        """The Hive whose views these are; `found` gives the version that the source tells (SourceHive)."""
        return SourceHive(self.hive_version, self.hive_time_zone, found)


class BridgeConfig(_Section):
    """`[bridge]`: where the listener calls. Always on 127.0.0.1."""

    port: int = Field(
        default=25333, ge=0, le=65535, description="Port on 127.0.0.1 that the listener calls; 0 takes a free port."
    )
    token_file: PlainPath = Field(
        default=Path("/etc/pysync/token"), description="File with the secret, mode 0600. `pysync token` creates it."
    )


class QueueConfig(_Section):
    """`[queue]`: where events are kept until every target has them."""

    directory: PlainPath = Field(
        default=Path("/var/lib/pysync"), description="Directory on a local disk. Only pysync may read it."
    )
    min_free_mb: int = Field(
        default=256, ge=0, description="Minimum free disk space in MiB. Below it the queue takes no events."
    )
    retain: Duration = Field(
        default=7 * 86400,
        description="How long events are kept as history after every target has them: 12h, 7d. 0s: a minute.",
    )
    retain_mb: int = Field(
        default=1024,
        ge=1,
        le=1024 * 1024,
        description="Maximum size of the history in MiB. The oldest events go first.",
    )


class JournalConfig(_Section):
    """`[journal]`: how long the records of operations and acts are kept, for `pysync actions` and `pysync why`."""

    keep: Duration = Field(default=30 * 86400, description="How long records are kept: 12h, 30d.")
    max_mb: int = Field(
        default=1024,
        ge=1,
        le=1024 * 1024,
        description="Maximum size of the journal in MiB. The oldest records go first.",
    )


class DumpConfig(_Section):
    """`[dump]`: where REPL DUMP writes, and for how long it is kept (docs/dump.md)."""

    root: PlainPath | None = Field(
        default=None, description="Directory of dumps. `pysync repl` makes a new directory in it for each REPL DUMP."
    )
    keep: Interval = Field(
        default=7 * 86400, description="REPL DUMP removes dumps in root that are older: 12h, 7d. Loads keep a dump."
    )


class VerifyConfig(_Section):
    """`[verify]`: whether the sidecar compares source and targets by itself, and at what pace."""

    every: Duration = Field(
        default=86400, description="Time between two comparisons: 30m, 1h, 1d. 0s: only `pysync verify` compares."
    )
    tables_per_second: Finite = Field(default=20.0, gt=0, description="Limit of compared tables per second.")


class WebConfig(_Section):
    """`[web]`: the page, metrics and health over HTTP. On 127.0.0.1 unless TLS and a password are set up."""

    port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port of the page, /metrics and /health; 0 takes a free port. Default: no web server.",
    )
    allowed_hosts: tuple[HostName, ...] = Field(
        default=(),
        description="More names that a request may have in its Host header, for a proxy that passes its own name on. "
        "127.0.0.1 and localhost always work.",
    )
    host: Host = Field(
        default="127.0.0.1",
        description="IP address to listen on. Any other than loopback needs tls_certificate, tls_key and "
        "password_file.",
    )
    tls_certificate: PlainPath | None = Field(
        default=None, description="PEM file of the certificate, with those between it and its authority."
    )
    tls_key: PlainPath | None = Field(default=None, description="PEM file of its key.")
    password_file: PlainPath | None = Field(
        default=None,
        description="File of users and hashes, mode 0600; `pysync web-password` writes it. Default: the page reads "
        "only, and names no tables.",
    )
    api_token_file: PlainPath | None = Field(
        default=None,
        description="File with the token of the JSON API, mode 0600; `pysync token` writes it. Default: no API.",
    )
    proxy_socket: PlainPath | None = Field(
        default=None,
        description="Unix socket for a proxy that signs users in: what comes there is from the user whom the header "
        "X-Forwarded-User names. Needs proxy_user. Default: none, and no header is believed.",
    )
    proxy_user: AccountName | None = Field(
        default=None, description="User of this machine that the proxy runs as. proxy_socket answers nobody else."
    )
    operators: tuple[str, ...] | None = Field(
        default=None, description="Users who may act; the others only look. Default: everybody who is signed in."
    )

    @model_validator(mode="after")
    def _is_safe(self) -> WebConfig:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key belong together; set both or neither")
        if (self.proxy_socket is None) != (self.proxy_user is None):
            raise ValueError("proxy_socket and proxy_user belong together; set both or neither")
        is_open = not ipaddress.ip_address(self.host).is_loopback
        if is_open and (self.tls_certificate is None or self.password_file is None):
            raise ValueError(
                f'host = "{self.host}" can be reached from other machines; set tls_certificate, tls_key and '
                "password_file, or leave host out"
            )
        return self


class NotifyConfig(_Section):
    """`[[notify]]`: a receiver that is sent what becomes visible at targets, and problems (docs/monitoring.md)."""

    name: Name = Field(description="Name of the receiver, for the status and the log.")
    url: str = Field(description="Where events are sent: https://, or http:// on this machine.")
    secret_file: PlainPath = Field(
        description="File with the secret that signs requests, mode 0600; `pysync token` writes it."
    )
    events: tuple[Literal["changes", "problems"], ...] = Field(
        default=("changes", "problems"), min_length=1, description="What is sent. Default: both."
    )
    targets: tuple[Name, ...] = Field(default=(), description="Only of these targets. Default: of all.")
    databases: tuple[str, ...] = Field(
        default=(), description="Only changes of these databases of the source, with * and ?. Default: of all."
    )

    @field_validator("url")
    @classmethod
    def _is_safe(cls, url: str) -> str:
        # No message shows it: an address of a webhook may hold a secret.
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in {"http", "https"} or not (url.isascii() and url.isprintable()) or " " in url:
            raise ValueError("this is not an address; write https://host:port/path")
        if parts.scheme == "http" and not _is_loopback(host):
            raise ValueError("names of tables would be readable on the way; write https:// or an address of loopback")
        if "@" in parts.netloc:
            raise ValueError("this has a user or a password, which would be shown; requests are signed instead")
        return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class LogConfig(_Section):
    """`[log]`: what is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Lowest level to log.")
    format: Literal["console", "json"] = Field(default="console", description="Format of the log on standard error.")


class Sections(_Section):
    """All that is not `[[targets]]`."""

    status_grace: Duration = Field(
        default=300, description="How long a target or listener may wait until `pysync status` reports a problem."
    )
    source: SourceConfig
    bridge: BridgeConfig = BridgeConfig()
    queue: QueueConfig = QueueConfig()
    journal: JournalConfig = JournalConfig()
    dump: DumpConfig = DumpConfig()
    verify: VerifyConfig = VerifyConfig()
    web: WebConfig = WebConfig()
    notify: tuple[NotifyConfig, ...] = Field(default=(), description="Receivers of notifications.")
    spark: SparkConfig = SparkConfig()
    log: LogConfig = LogConfig()


_HEADER = re.compile(r"^(?=\[)", re.MULTILINE)


# Unlike a section it ignores other keys: those of a target are known to its kind alone.
class _Named(BaseModel):
    name: Name


@dataclass(frozen=True, slots=True)
class Outline:
    """What a command has to know if it only asks the running sidecar."""

    directory: Path  # the queue's, where the sidecar answers
    targets: tuple[str, ...]  # their names


def load_outline(path: Path) -> Outline:
    """The outline of a TOML file: its sections are checked as `load_config` does, of its targets only the names.

    Raises UsageError with every problem found, one a line, each with the key that it is about.
    """
    text = read_text(path)
    tables = tables_in(text, path)
    problems: list[str] = []
    listed = taken_targets(tables, problems)
    sections = checked(Sections, tables, "", problems)
    targets = [checked(_Named, _table(it), f"targets[{at}]", problems) for at, it in enumerate(listed)]
    if problems or sections is None:
        raise refusal(path, text, problems)
    return Outline(sections.queue.directory, tuple(target.name for target in targets if target))


def readable_outline(path: Path) -> Outline | None:
    """What can be read of a file that is wrong, so that its sidecar can be asked all the same; None if nothing can.

    Raises UsageError if the file cannot be read.
    """
    tables = _readable_tables(read_text(path), path)
    directory = {key: it for key, it in _table(tables.get("queue")).items() if key == "directory"}
    queue = checked(QueueConfig, directory, "queue", [])
    listed = tables.get("targets")
    names = [_table(it).get("name") for it in (listed if isinstance(listed, list) else [])]
    return None if queue is None else Outline(queue.directory, tuple(it for it in names if isinstance(it, str)))


def _readable_tables(text: str, path: Path) -> dict[str, Any]:
    """The tables of a file; of one that is no TOML those that can be read, each by itself."""
    with suppress(UsageError):
        return tables_in(text, path)
    tables, targets = dict[str, Any](), list[Any]()
    for part in _HEADER.split(text):
        with suppress(UsageError):
            table = tables_in(part, path)
            # `[targets.copy]` alone is a table, no list of targets.
            targets += it if isinstance(it := table.pop("targets", []), list) else []
            tables |= table
    return tables | {"targets": targets}


def taken_targets(tables: dict[str, Any], problems: list[str]) -> list[Any]:
    """The tables of `[[targets]]`, taken out of `tables`."""
    value = tables.pop("targets", [])
    if isinstance(value, list) and value:
        return value
    problems.append("targets: missing; add at least one [[targets]] table, in double brackets")
    return []


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
