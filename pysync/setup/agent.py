"""The settings of AWS's Glue sync agents for Hive, and the pysync.toml that they become."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import TextWrapper
from xml.etree import ElementTree

from pysync.base.errors import UsageError
from pysync.base.text import toml_string
from pysync.metastore.addresses import parse_addresses

# --- Agent: what the hive-site.xml of the AWS Glue sync agent for Hive says, for both generations of the agent.
#
# Both are the same class in `hive.metastore.event.listeners`. The first sends DDL to Athena
# (`glue.catalog.athena.*`), the second calls the Glue API. The first does not start without
# `glue.catalog.athena.s3.staging.dir`, so a configuration with no key of the first is one of the second.


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
_SECRET_WORDS = re.compile(r"(?:UID|User|PWD|Password|\w*Secret\w*|\w*Token\w*|AccessKey\w*)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{(?!\S*(?:secret|password|token|key))([^${}\s]+)\}", re.IGNORECASE)
_DEPTH = 20  # of variables that refer to others, as in Hadoop
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
        for _ in range(_DEPTH):
            expanded = _VARIABLE.sub(lambda it: self.properties.get(it[1], it[0]), value)
            if expanded == value:
                break
            value = expanded
        return value

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
        return any(_SECRET_WORDS.fullmatch(key) for key, _ in self._address_pairs())

    def _address_pairs(self) -> list[tuple[str, str]]:
        parts = (part.partition("=") for part in re.split(r"[;?&]", self.get(_URL).partition("://")[2]))
        return [(key.strip(), value.strip()) for key, equals, value in parts if equals]


def _address_key(key: str) -> str:
    """A setting of the JDBC driver by its present name."""
    plain = key.strip().lower()
    return _OLD_NAMES.get(plain, plain)


# --- Agent conf: a pysync.toml from the hive-site.xml of the AWS Glue sync agent for Hive, and what becomes
# different.
#
# Both generations of the agent are read (`agent`). No secret is ever part of what is written.

_LISTENERS = "hive.metastore.event.listeners"
_S3 = re.compile(r"s3[an]?://", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_NOTES = TextWrapper(
    width=110, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
)


def read_agent(hive_site: Path) -> Agent:
    """What a hive-site.xml says of the agent. Raises UsageError when it cannot be read, or does not configure one."""
    agent = Agent(_read(hive_site))
    if not agent.is_configured:
        raise UsageError(
            f"{hive_site} does not configure the Glue sync agent", f"the file has neither {LISTENER} nor its keys"
        )
    return agent


def agent_config(agent: Agent, file: str, sections: Mapping[str, Mapping[str, str | int]]) -> str:
    """A pysync.toml with these sections and a target that does what the agent did, headed by what is different.

    `file` is the name of the hive-site.xml.
    """
    head = [f"# From the agent's settings in {json.dumps(file)} by `pysync init --from-agent`. Differences:", "#"]
    notes = [_NOTES.fill(note) for note in _notes(agent)]
    made = [line for name, settings in sections.items() for line in [*_section(f"[{name}]", settings), ""]]
    return "\n".join([*head, *notes, "", *made, *_target(agent), ""])


def _section(header: str, settings: Mapping[str, str | int]) -> list[str]:
    return [header, *(f"{key} = {toml_string(it) if isinstance(it, str) else it}" for key, it in settings.items())]


def _read(path: Path) -> dict[str, str]:
    try:
        root = ElementTree.fromstring(path.read_bytes())  # noqa: S314, a file that HMS trusts as well
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}") from error
    pairs = ((each.findtext("name", ""), each.findtext("value", "")) for each in root.iter("property"))
    return {name.strip(): value.strip() for name, value in pairs}


def _addresses(uris: str) -> str:
    """The URIs that are addresses: all of them are servers of one metastore."""
    addresses: list[str] = []
    for uri in uris.split(","):
        with suppress(UsageError):
            addresses += map(str, parse_addresses(uri))
    return ",".join(dict.fromkeys(addresses))


def _target(agent: Agent) -> list[str]:
    settings = {"name": "lake", "kind": "athena" if agent.is_by_athena else "glue"}
    settings |= {"region": agent.region} if agent.region else {}
    if agent.is_by_athena:
        settings |= _athena(agent)
    elif agent.get("glue.catalog.id"):
        settings["catalog_id"] = agent.get("glue.catalog.id")
    settings["drops"] = "suppress" if agent.suppresses_drops else "apply"
    settings["on_conflict"] = "adopt" if agent.flag("glue.catalog.dropTableIfExists", False) else "park"
    creates = str(agent.flag("glue.catalog.createMissingDB", True)).lower()
    lines = _section("[[targets]]", settings)
    return [*lines, f"create_missing_databases = {creates}", *_taken(agent)]


def _taken(agent: Agent) -> list[str]:
    """The tables that it replicates, by their definition."""
    types = ("EXTERNAL_TABLE",) if agent.is_by_athena else ("EXTERNAL_TABLE", "MANAGED_TABLE")
    settings = {"include_schemes": ("s3", "s3a", "s3n"), "include_types": types}
    if not agent.is_by_athena:
        settings["exclude_parameters"] = ("storage_handler", "table.system.ownership=gdc")
    return [f"{key} = [{', '.join(map(toml_string, values))}]" for key, values in settings.items()]


def _athena(agent: Agent) -> dict[str, str]:
    group = agent.address.get("workgroup", "")
    settings = {"staging": _S3.sub("s3://", agent.staging, count=1)} if _S3.match(agent.staging) else {}
    if group or not settings:
        # Athena needs one of the two, and every account has the work group `primary`.
        settings["work_group"] = group or "primary"
    catalog = agent.address.get("catalog")
    settings |= {"catalog": catalog} if catalog else {}
    return settings | ({"athena_endpoint_url": agent.endpoint} if agent.endpoint else {})


def _notes(agent: Agent) -> Iterator[str]:
    yield from _warnings(agent)
    yield (
        f"Remove {LISTENER} from {_LISTENERS}: "
        "if both write the same tables, they overwrite each other. Add what `pysync hive-site` prints."
    )
    yield (
        "As the agent did, the target takes only some tables (include_schemes, include_types, exclude_parameters). "
        "pysync can replicate views and tables elsewhere, too: map their locations to S3 with `locations`. "
        "The agent looked at the location of each partition. pysync looks at the table's."
    )
    yield "Tables that the agent created have no mark of pysync. " + _conflict_note(agent)
    yield (
        "pysync also replicates alters, renames, databases and properties of partitions. The Glue API makes changes "
        'that Athena DDL cannot express; with glue_api = "never" such events are parked.'
    )
    yield "A failed statement is retried, or its event is parked (pysync parked list). No failure is ignored."
    if not agent.syncs_statistics:
        yield "The agent left out the numbers of files and rows (numRows, totalSize, ...). pysync writes them."
    if agent.is_by_athena and "staging" not in _athena(agent):
        yield "The agent has no staging location: set staging, or a work_group that has one."
    if agent.not_needed:
        yield f"No longer needed: {', '.join(agent.not_needed)}."


def _warnings(agent: Agent) -> Iterator[str]:
    """What a person must decide before the first start."""
    if agent.has_secrets:
        yield (
            "The configuration of the agent holds credentials. They are not copied: put them into a profile in "
            "~/.aws/credentials and set profile, or better use a role of the host. Remove them from hive-site.xml."
        )
    if agent.unread:
        yield f"WARNING: keys that pysync does not know, and has NOT taken over: {_listed(agent.unread)}"
    if agent.unread_of_address:
        yield f"WARNING: settings of the JDBC address that are NOT taken over: {_listed(agent.unread_of_address)}"
    if agent.is_mixed:
        yield (
            "WARNING: it has keys of both generations of the agent. It is read as one of the second, which calls the "
            "Glue API; of the first one's glue.catalog.athena.* keys only suppressAllDropEvents is read."
        )
    if not agent.has_region:
        yield f"WARNING: the agent has no region, so it writes to {agent.region}: set region if it is another."
    if agent.odd_suppressions:
        yield (
            f"WARNING: the agent may not have followed {_listed(agent.odd_suppressions)}, because its generation has "
            "another key, or because the value is neither true nor false. Check drops."
        )
    if agent.endpoint:
        yield (
            "WARNING: the agent reaches Athena at an endpoint of its own (athena_endpoint_url). pysync calls Glue, "
            "too: if Glue cannot be reached at its public endpoint, set glue_endpoint_url."
        )
    if any("${" in agent.get(key) for key in agent.properties if key.startswith("glue.catalog.")):
        yield "WARNING: a value refers to ${another} property, which the file does not have: it is copied unchanged."


def _conflict_note(agent: Agent) -> str:
    key = "glue.catalog.dropTableIfExists"
    if agent.flag(key, False):
        return 'on_conflict = "adopt" alters them; pysync does not drop and create them again.'
    parked = 'Their events are parked until on_conflict is "adopt".'
    if key in agent.properties:
        return parked
    return f"{parked} {key} is not set: the agent's code has false (a README of it says true)."


def _listed(names: list[str]) -> str:
    return ", ".join(name if _PLAIN_KEY.fullmatch(name) else json.dumps(name) for name in names)
