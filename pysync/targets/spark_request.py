"""The Spark session that a target needs: its settings, and which of them are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated

from pydantic import AfterValidator

# Covers fs.s3a.secret.key, spark.ssl.keyPassword, fs.azure.account.key.HOST and the like.
_SECRET = re.compile(
    r"(secret(\.?key)?|password|passphrase|token|access\.?key|account\.key(\..*)?|credentials?)$", re.IGNORECASE
)
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
_AUTHENTICATE = "spark.authenticate"
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
        if key == "spark.master":
            raise ValueError("'spark.master' is not allowed here; set master")
        if is_secret(key):
            raise ValueError(f"{key!r} looks like a secret; put it into a file in SPARK_CONF_DIR or HADOOP_CONF_DIR")
    return value


SparkConf = Annotated[dict[str, str], AfterValidator(_spark_settings)]
"""Settings of Spark, without secrets: whoever may run pysync can read pysync.toml, and parts of it are shown."""


@dataclass(frozen=True, slots=True)
class SparkRequest:
    """The Spark session that a target needs; `catalog` is whether it needs Hive's catalog.

    A process has one session, so the requests of all targets must agree (pysync.config).
    """

    master: str | None
    settings: tuple[tuple[str, str], ...]
    catalog: bool = False
    threads: int = field(default=2, compare=False)  # of a session on this machine

    @property
    def is_local(self) -> bool:
        """Whether driver and executors are one process on this machine."""
        return self.master is None or _LOCAL.fullmatch(self.master) is not None

    @property
    def is_any(self) -> bool:
        """Whether any session will do."""
        return not (self.master or self.settings or self.catalog)

    @property
    def exposure(self) -> str | None:
        """How somebody without a secret could have the driver run code, as its ports take serialized Java; else None.

        A session on this machine is closed unless its settings open it. Elsewhere the operator has to close it.
        """
        settings = dict(self.settings)
        authenticates = settings.get(_AUTHENTICATE, str(self.is_local)).strip().lower() == "true"
        if not authenticates:
            return (
                f"whoever reaches Spark's driver could have it run code; set {_AUTHENTICATE} = true"
                f"{'' if self.is_local else _OF_CLUSTER}"
            )
        addresses = {key: settings[key] for key in _ADDRESSES if key in settings}
        if not self.is_local:
            return None if addresses else _ANY_ADDRESS
        others = [f"{key} = {value}" for key, value in addresses.items() if not _is_loopback(value)]
        return f"Spark on this machine is to listen on loopback; leave out {', '.join(others)}" if others else None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
