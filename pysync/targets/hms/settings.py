"""The settings of a target of kind `hms`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from pysync.base.validation import Seconds
from pysync.metastore.access import MetastoreAccess
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
from pysync.targets.settings import TargetSettings


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
    timeout_seconds: Seconds = Field(
        default=120.0, gt=0, description="Longest wait for a part of an answer. A call takes ten times that at most."
    )

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
