"""Settings of a target of kind `spark`, and the one session that all targets of a process share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import Field, PrivateAttr

from pysync.metastore.settings import AddressList
from pysync.targets.settings import TargetSettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import METASTORE_URIS, SparkRequest


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
    metastore: AddressList | None = Field(
        default=None, description="Metastore of the Spark session. Default: the one in its hive-site.xml."
    )

    _shared: _Shared = PrivateAttr(default_factory=_Shared)

    def place(self) -> str | None:
        """The addresses of the metastore, as for a target of kind hms."""
        return self.metastore

    def spark_request(self) -> SparkRequest:
        """The session that it needs: one with a catalog."""
        request = SparkRequest.of(self._spark, self.copy_files.parallelism if self.copy_files else 2)
        place = ((METASTORE_URIS, self.metastore),) if self.metastore else ()
        return replace(request, settings=(*place, *request.settings), catalog=True)

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
