"""Settings of a target of kind `spark`, and the one session that all targets of a process share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from pysync.metastore.settings import AddressList
from pysync.targets.settings import TargetSettings
from pysync.targets.spark_request import SparkConf, SparkRequest

if TYPE_CHECKING:
    pass
from pysync.targets.spark.session import SparkHost

_CATALOG = "spark.sql.catalogImplementation"
_URIS = "spark.hadoop.hive.metastore.uris"


@dataclass(slots=True, eq=False)
class _Shared:
    """The session that the targets opened from one settings object use."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    host: SparkHost | None = None

    def __eq__(self, other: object) -> bool:
        """Settings that say the same are equal, whether they are in use or not."""
        return isinstance(other, _Shared)

    __hash__ = None  # type: ignore[assignment]


class SparkSettings(TargetSettings):
    """A `[[targets]]` table of `kind = "spark"`."""

    kind: Literal["spark"]
    master: str | None = Field(
        default=None, description="Spark master: yarn, spark://host:7077, … Default: threads of this machine."
    )
    metastore: AddressList | None = Field(
        default=None, description="Metastore of the Spark session. Default: the one in its hive-site.xml or in `spark`."
    )
    spark: SparkConf = Field(default={}, description="More Spark properties: spark.… = text.")

    _shared: _Shared = PrivateAttr(default_factory=_Shared)

    @field_validator("spark")
    @classmethod
    def _is_hives(cls, value: dict[str, str]) -> dict[str, str]:
        if value.get(_CATALOG, "hive") != "hive":
            raise ValueError(f"{_CATALOG} must be hive; an in-memory catalog ends with the session")
        return value

    def place(self) -> str | None:
        """The addresses of the metastore, as for a target of kind hms."""
        return self.metastore

    @model_validator(mode="after")
    def _check_one_session(self) -> SparkSettings:
        copy = self.copy_files
        if copy is not None and (copy.master or copy.spark):
            raise ValueError(
                "copy.master and copy.spark are not allowed here: the session of the target copies the files; set "
                "master and spark instead"
            )
        if self.metastore and _URIS in self.spark:
            raise ValueError(f"metastore and {_URIS} are both set; set only one of them")
        return self

    def spark_request(self) -> SparkRequest:
        """The session that it needs: one with a catalog."""
        place = {_URIS: self.metastore} if self.metastore else {}
        threads = self.copy_files.parallelism if self.copy_files else 2
        return SparkRequest(self.master, tuple(sorted({**place, **self.spark}.items())), catalog=True, threads=threads)

    def use(self, host: SparkHost) -> None:
        """Have all targets that are opened from these settings use this session."""
        with self._shared.lock:
            self._shared.host = host

    def host(self) -> SparkHost:
        """The session that was given, or one of its own, which ends with the process. Starts nothing."""
        with self._shared.lock:
            if self._shared.host is None:
                self._shared.host = SparkHost(self.spark_request())
            return self._shared.host
