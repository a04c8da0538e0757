"""Agent: what the hive-site.xml of the AWS Glue sync agent for Hive says, for both generations of the agent.

Both are the same class in `hive.metastore.event.listeners`. The first sends DDL to Athena (`glue.catalog.athena.*`),
the second calls the Glue API. The first does not start without `glue.catalog.athena.s3.staging.dir`, so a configuration
with no key of the first is one of the second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pysync.base.errors import UsageError
from pysync.metastore.addresses import parse_addresses

LISTENER = "com.amazonaws.services.glue.catalog.HiveGlueCatalogSyncAgent"

_PREFIX = "glue.catalog."
_FIRST = "glue.catalog.athena."
_KEYS = ("glue.catalog.user.key", "glue.catalog.user.secret")
_URL = "glue.catalog.athena.jdbc.url"
_STAGING = "glue.catalog.athena.s3.staging.dir"
_SUPPRESS = ("glue.catalog.athena.suppressAllDropEvents", "glue.catalog.suppressAllDropEvents")
_STATISTICS = "glue.catalog.syncTableStatistics"
_BOTH = ("glue.catalog.dropTableIfExists", "glue.catalog.createMissingDB")
# Of the second generation: how it works, for which pysync has its own ways.
_WORKINGS = (
    *("glue.catalog.batch.window.seconds", "glue.catalog.queue.capacity"),
    *("glue.catalog.retry.maxAttempts", "glue.catalog.retry.initialBackoffMs", "glue.catalog.retry.backoffMultiplier"),
    *("glue.catalog.metrics.enabled", "glue.catalog.metrics.namespace"),
    "glue.catalog.metrics.publish.interval.seconds",
)
_SECOND = ("glue.catalog.region", "glue.catalog.id", _SUPPRESS[1], _STATISTICS, *_WORKINGS)
_NOT_NEEDED = ("no-event-sleep-duration", "reconnect-failed-sleep-duration", "LOG_STREAM_NAME", *_WORKINGS)
_READ = {*_KEYS, _URL, _STAGING, *_BOTH, *_SECOND, _SUPPRESS[0]}

_REGION = "us-east-1"
"""Where both generations write if no region is set."""
_HOST = re.compile(r"athena\.([a-z0-9-]+)\.(?:vpce\.)?(?:amazonaws\.com|api\.aws)")
_ENDPOINT = re.compile(r"//([a-z0-9.-]*\.vpce\.amazonaws\.com(?:\.cn)?(?::\d+)?)")
_LOGIN = frozenset({"uid", "user", "pwd", "password"})
_SECRET_WORDS = ("secret", "password", "token", "key")
_VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")
_MOST_VARIABLES = 20  # that are replaced in one value, as in Hadoop: they may contain one another
_OLD_NAMES = {"awsregion": "region", "s3outputlocation": "outputlocation", "endpointoverride": "athenaendpoint"}
_OF_ADDRESS = {"region", "outputlocation", "athenaendpoint", "workgroup", "catalog"}


@dataclass(frozen=True, slots=True)
class Agent:
    """What the agent's configuration says, with the defaults of its code (not those of its README)."""

    properties: Mapping[str, str]

    def get(self, key: str, default: str = "") -> str:
        """A setting, with the variables `${...}` in it replaced by other properties of the file, as Hadoop does.

        One that may hold a credential is left as it is.
        """
        value = self.properties.get(key, default)
        for _ in range(_MOST_VARIABLES):
            known = next((it for it in _VARIABLE.finditer(value) if self._is_known(it[1])), None)
            if known is None:
                break
            value = value[: known.start()] + self.properties[known[1]] + value[known.end() :]
        return value

    def _is_known(self, variable: str) -> bool:
        return variable in self.properties and not any(word in variable.lower() for word in _SECRET_WORDS)

    def flag(self, key: str, default: bool) -> bool:
        """A setting that is true or false; the default for other words, as Hadoop takes it."""
        return {"true": True, "false": False}.get(self.get(key).strip().lower(), default)

    @property
    def is_configured(self) -> bool:
        """Whether the file configures the agent at all."""
        listed = LISTENER in self.get("hive.metastore.event.listeners")
        return listed or any(key.startswith(_PREFIX) for key in self.properties)

    @property
    def is_by_athena(self) -> bool:
        """Whether it is the first generation, which sends DDL to Athena; else it calls the Glue API."""
        first = any(key.startswith(_FIRST) or key in _KEYS for key in self.properties)
        return first and self.properties.keys().isdisjoint(_SECOND)

    @property
    def is_mixed(self) -> bool:
        """Whether keys of both generations are in it: the second was installed, and the first one's keys were left."""
        return not self.is_by_athena and any(key.startswith(_FIRST) for key in self.properties)

    @property
    def address(self) -> dict[str, str]:
        """The settings in its JDBC address that are read, by the lower-case names that version 3 of the driver has."""
        address = {_address_key(key): value for key, value in self._address_pairs()}
        return {key: value for key, value in address.items() if key in _OF_ADDRESS and value}

    @property
    def metastore(self) -> str:
        """The addresses of the metastore that the file names; "" if it names none."""
        return _addresses(self.get("hive.metastore.uris") or self.get("metastore.thrift.uris"))

    @property
    def region(self) -> str:
        """Where it writes."""
        if not self.is_by_athena:
            return self.get("glue.catalog.region") or _REGION
        host = _HOST.search(self.get(_URL))
        named = self.address.get("region") or (host[1] if host else "")
        return named or ("" if _URL in self.properties else _REGION)

    @property
    def has_region(self) -> bool:
        """Whether the configuration says where; else it is the default of the agent's code."""
        return any(key in self.properties for key in (_URL, "glue.catalog.region"))

    @property
    def endpoint(self) -> str:
        """The endpoint of Athena that its address names, for example in a VPC; "" for AWS's own."""
        match = _ENDPOINT.search(self.get(_URL))
        host = self.address.get("athenaendpoint", "") or (match[1] if match else "")
        return host if not host or "://" in host else f"https://{host}"

    @property
    def staging(self) -> str:
        """Where Athena writes the results of its statements; "" if nothing says so."""
        return self.get(_STAGING) or self.address.get("outputlocation", "")

    @property
    def suppresses_drops(self) -> bool:
        """Whether it drops nothing: of either generation's key, and of a value that only Hadoop might not understand.

        A value that is not plainly false suppresses: drops that are wanted can still be made, others not undone.
        """
        return any(self.get(key, "false").strip().lower() != "false" for key in _SUPPRESS)

    @property
    def odd_suppressions(self) -> list[str]:
        """The keys for drops that the installed generation does not read, or whose value it does not understand."""
        own = _SUPPRESS[0 if self.is_by_athena else 1]
        there = [key for key in _SUPPRESS if key in self.properties]
        return [key for key in there if key != own or self.get(key).strip().lower() not in {"true", "false"}]

    @property
    def syncs_statistics(self) -> bool:
        """Whether it writes the numbers of files and rows; the first generation never does."""
        return not self.is_by_athena and self.flag(_STATISTICS, False)

    @property
    def has_secrets(self) -> bool:
        """Whether credentials are in it."""
        return any(key in self.properties for key in _KEYS) or self._has_secrets_in_address

    @property
    def not_needed(self) -> list[str]:
        """Its keys that have no place in pysync, because it works otherwise."""
        return [key for key in _NOT_NEEDED if key in self.properties]

    @property
    def unread(self) -> list[str]:
        """Keys that look like its own, and that nobody here knows."""
        return sorted(key for key in self.properties if key.startswith(_PREFIX) and key not in _READ)

    @property
    def unread_of_address(self) -> list[str]:
        """The names of settings in its JDBC address that are not taken over.

        None if there are credentials in it: what looks like a name may be a part of one.
        """
        names = {key for key, _ in self._address_pairs() if _address_key(key) not in _OF_ADDRESS}
        return [] if self._has_secrets_in_address else sorted(names)

    @property
    def _has_secrets_in_address(self) -> bool:
        return any(_holds_secret(key) for key, _ in self._address_pairs())

    def _address_pairs(self) -> list[tuple[str, str]]:
        parts = (part.partition("=") for part in re.split(r"[;?&]", self.get(_URL).partition("://")[2]))
        return [(key.strip(), value.strip()) for key, equals, value in parts if equals]


def _holds_secret(key: str) -> bool:
    """Whether a setting of the JDBC driver is a part of a login."""
    plain = key.lower()
    return plain in _LOGIN or "secret" in plain or "token" in plain or plain.startswith("accesskey")


def _address_key(key: str) -> str:
    """A setting of the JDBC driver by its present name."""
    plain = key.strip().lower()
    return _OLD_NAMES.get(plain, plain)


def _addresses(uris: str) -> str:
    """The URIs that are addresses: all of them are servers of one metastore."""
    addresses: list[str] = []
    for uri in uris.split(","):
        with suppress(UsageError):
            addresses += map(str, parse_addresses(uri))
    return ",".join(dict.fromkeys(addresses))
