"""The settings of a target of kind `hms`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.settings import (
    AddressList,
    KerberosSettings,
    LoginSettings,
    TlsSettings,
    UserName,
    assert_one_login,
)
from pysync.model.event import replicator
from pysync.targets.settings import TargetSettings
from pysync.validation import Interval, Seconds


class HmsSettings(TargetSettings):
    """A `[[targets]]` table of `kind = "hms"`."""

    goes_both_ways = True
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
    statistics: Literal["off", "columns"] = Field(
        default="off", description="columns: replicate column statistics, too (docs/versions.md)."
    )
    last_id_every: Interval | None = Field(
        default=None,
        description="How often the parameter pysync.last.id of the target's databases is written: 1m, 1h "
        "(docs/consistency.md). Default: never.",
    )
    timeout_seconds: Seconds = Field(default=120.0, gt=0, description="Timeout of a call.")
    connect_timeout_seconds: Seconds = Field(default=5.0, gt=0, description="Timeout for connecting.")

    def place(self) -> str | None:
        """The addresses of the metastore."""
        return self.metastore

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

    @property
    def writes_event_ids_every(self) -> int | None:
        """As configured."""
        return self.last_id_every

    @model_validator(mode="after")
    def _writes_no_ids_both_ways(self) -> HmsSettings:
        if self.both_ways and self.last_id_every is not None:
            raise ValueError("both_ways = true does not work with last_id_every: each write would be replicated back")
        return self

    @model_validator(mode="after")
    def _logs_in_in_one_way(self) -> HmsSettings:
        assert_one_login(self.metastore, self.kerberos, self.login)
        if self.user is not None and self.logs_in:
            raise ValueError("user does not work with kerberos or login: calls are made as the user that logs in")
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
        if self.user is not None and len(visited) <= 1:
            return self.user
        return replicator(visited) if visited and (self.both_ways or self.user) else None

    def access(self) -> MetastoreAccess:
        """How to reach it."""
        return MetastoreAccess.of(self.metastore, self.tls, self.kerberos, self.login)
