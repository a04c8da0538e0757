"""`[spark]`: the settings of the one Spark session, which of them are refused, and what a target needs of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

# Covers fs.s3a.secret.key, spark.ssl.keyPassword, fs.azure.account.key.HOST and the like.
_SECRET = re.compile(
    r"(secret(\.?key)?|password|passphrase|token|access\.?key|account\.key(\..*)?|credentials?)$", re.IGNORECASE
)
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
_AUTHENTICATE = "spark.authenticate"
METASTORE_URIS = "spark.hadoop.hive.metastore.uris"
_SET_ELSEWHERE = {
    "spark.master": "set master",
    "spark.sql.catalogImplementation": "the kinds of the targets decide about it",
    METASTORE_URIS: "set metastore of the target of kind spark",
}
_ADDRESSES = ("spark.driver.bindAddress", "spark.driver.host")
_OF_CLUSTER = " (YARN and Kubernetes make the secret; for others put it into a file in SPARK_CONF_DIR)"
_ANY_ADDRESS = (
    f"Spark's driver would listen on every network that this host's name leads to; set {' or '.join(_ADDRESSES)} to an "
    "address that only the hosts of Spark reach"
)


def is_secret(key: str) -> bool:
    """Whether a setting of this name looks like a secret."""
    return _SECRET.search(key) is not None


def _spark_settings(value: dict[str, str]) -> dict[str, str]:
    for key in value:
        if not key.startswith("spark."):
            raise ValueError(
                f"{key!r} is not a Spark property; its name must begin with spark. (Hadoop's with spark.hadoop.)"
            )
        if key in _SET_ELSEWHERE:
            raise ValueError(f"{key!r} is not allowed here; {_SET_ELSEWHERE[key]}")
        if is_secret(key):
            raise ValueError(f"{key!r} looks like a secret; put it into a file in SPARK_CONF_DIR or HADOOP_CONF_DIR")
    return value


class SparkConfig(BaseModel):
    """`[spark]`: the one Spark session of the sidecar, and of each command that needs Spark.

    It holds no secrets: whoever may run pysync can read pysync.toml, and parts of it are shown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    master: str | None = Field(
        default=None, description="Spark master: yarn, spark://host:7077, … Default: threads of this machine."
    )
    settings: Annotated[dict[str, str], AfterValidator(_spark_settings)] = Field(
        default={}, description="More Spark properties: spark.… = text."
    )

    @model_validator(mode="after")
    def _assert_closed(self) -> SparkConfig:
        """Refuse a session in which somebody without a secret could run code, as its ports take serialized Java.

        A session on this machine is closed unless its settings open it. Elsewhere the operator has to close it.
        """
        is_local = is_local_master(self.master)
        if self.settings.get(_AUTHENTICATE, str(is_local)).strip().lower() != "true":
            raise ValueError(
                f"whoever reaches Spark's driver could have it run code; set {_AUTHENTICATE} = true"
                f"{'' if is_local else _OF_CLUSTER}"
            )
        addresses = {key: self.settings[key] for key in _ADDRESSES if key in self.settings}
        if not is_local and not addresses:
            raise ValueError(_ANY_ADDRESS)
        others = [f"{key} = {value}" for key, value in addresses.items() if not _is_loopback(value)]
        if is_local and others:
            raise ValueError(f"Spark on this machine is to listen on loopback; leave out {', '.join(others)}")
        return self


@dataclass(frozen=True, slots=True)
class SparkRequest:
    """A Spark session: whether it has Hive's catalog, and how many threads it has if there is no master."""

    master: str | None
    settings: tuple[tuple[str, str], ...]
    catalog: bool = False
    threads: int = 2

    @classmethod
    def of(cls, spark: SparkConfig, threads: int) -> SparkRequest:
        """The session of `[spark]`, without a catalog."""
        return cls(spark.master, tuple(sorted(spark.settings.items())), threads=threads)

    @property
    def is_local(self) -> bool:
        """Whether driver and executors are one process on this machine."""
        return is_local_master(self.master)


def is_local_master(master: str | None) -> bool:
    """Whether driver and executors of a session with this master are one process on this machine."""
    return master is None or _LOCAL.fullmatch(master) is not None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
