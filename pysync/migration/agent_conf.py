"""Agent conf: a pysync.toml from the hive-site.xml of the AWS Glue sync agent for Hive, and what becomes different.

Both generations of the agent are read: the first, which sends DDL to Athena (`glue.catalog.athena.*`), and the second,
which calls the Glue API (`glue.catalog.region`, `glue.catalog.id`). No secret is ever part of what is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from pysync.errors import UsageError
from pysync.metastore.addresses import parse_addresses
from pysync.text import toml_string

LISTENER = "com.amazonaws.services.glue.catalog.HiveGlueCatalogSyncAgent"

_LISTENERS = "hive.metastore.event.listeners"
_DEFAULT_URL = "jdbc:awsathena://athena.us-east-1.amazonaws.com:443"
_HOST = re.compile(r"athena\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)")
_S3 = re.compile(r"s3[an]?://", re.IGNORECASE)
_SECRETS = ("glue.catalog.user.key", "glue.catalog.user.secret")
_SECRET_WORDS = re.compile(r"(?:UID|User|PWD|Password|\w*Secret\w*|\w*Token\w*|AccessKey\w*)", re.IGNORECASE)
_WITHOUT_PLACE = (
    *("no-event-sleep-duration", "reconnect-failed-sleep-duration", "LOG_STREAM_NAME"),
    *("glue.catalog.batch.window.seconds", "glue.catalog.queue.capacity", "glue.catalog.retry.maxAttempts"),
    *("glue.catalog.metrics.enabled", "glue.catalog.metrics.namespace"),
    *("glue.catalog.metrics.publish.interval.seconds", "glue.catalog.syncTableStatistics"),
)


@dataclass(frozen=True, slots=True)
class Agent:
    """What the agent's configuration says, with the defaults of its code (not those of its README)."""

    properties: Mapping[str, str]

    @property
    def is_by_athena(self) -> bool:
        """Whether it is the agent that sends DDL to Athena; else it calls the Glue API."""
        athena = any(key.startswith("glue.catalog.athena.") for key in self.properties)
        return athena or not {"glue.catalog.region", "glue.catalog.id"} & self.properties.keys()

    @property
    def url(self) -> dict[str, str]:
        """The settings in its JDBC address, by their lower-case names; `region` and no secrets."""
        text = self.properties.get("glue.catalog.athena.jdbc.url", _DEFAULT_URL)
        pairs = (part.split("=", 1) for part in re.split(r"[;?&]", text.partition("://")[2]) if "=" in part)
        found = {key.strip().lower(): value.strip() for key, value in pairs if not _SECRET_WORDS.fullmatch(key.strip())}
        host = _HOST.search(text)
        return {"region": found.get("awsregion") or (host[1] if host else ""), **found}

    @property
    def has_secrets(self) -> bool:
        """Whether credentials are in it."""
        text = self.properties.get("glue.catalog.athena.jdbc.url", "")
        named = (part.split("=", 1)[0].strip() for part in re.split(r"[;?&/]", text) if "=" in part)
        return any(key in self.properties for key in _SECRETS) or any(map(_SECRET_WORDS.fullmatch, named))

    def flag(self, key: str, default: bool) -> bool:
        """A setting that is true or false."""
        return self.properties.get(key, str(default)).strip().lower() == "true"


def import_agent_conf(hive_site: Path, source: str) -> str:
    """A pysync.toml that does what the agent did, headed by what is different.

    Raises UsageError when the file cannot be read, or does not configure the agent.
    """
    agent = Agent(_read(hive_site))
    if LISTENER not in agent.properties.get(_LISTENERS, "") and not _has_its_keys(agent):
        raise UsageError(
            f"{hive_site} does not configure the Glue sync agent", f"the file has neither {LISTENER} nor its keys"
        )
    head = [f"# From {json.dumps(hive_site.name)} by `pysync import-agent-conf`. Differences:", "#"]
    notes = [f"# - {note}" for note in _notes(agent)]
    return "\n".join([*head, *notes, "", *_source(agent, source), "", *_target(agent), ""])


def _has_its_keys(agent: Agent) -> bool:
    return any(key.startswith("glue.catalog.") for key in agent.properties)


def _read(path: Path) -> dict[str, str]:
    try:
        root = ElementTree.fromstring(path.read_bytes())  # noqa: S314, a file that HMS trusts as well
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}") from error
    pairs = ((each.findtext("name", ""), each.findtext("value", "")) for each in root.iter("property"))
    return {name.strip(): value.strip() for name, value in pairs}


def _source(agent: Agent, name: str) -> list[str]:
    uris = agent.properties.get("hive.metastore.uris") or agent.properties.get("metastore.thrift.uris") or ""
    found = ["[source]", f"name = {toml_string(name)}"]
    return [*found, f"metastore = {toml_string(where)}"] if (where := _addresses(uris)) else found


def _addresses(uris: str) -> str:
    """The URIs that are addresses: all of them are servers of one metastore."""
    found: list[str] = []
    for uri in uris.split(","):
        with suppress(UsageError):
            found += map(str, parse_addresses(uri))
    return ",".join(dict.fromkeys(found))


def _target(agent: Agent) -> list[str]:
    found = {"name": "lake", "kind": "athena" if agent.is_by_athena else "glue"}
    region = agent.url["region"] if agent.is_by_athena else agent.properties.get("glue.catalog.region", "")
    found |= {"region": region} if region else {}
    if agent.is_by_athena:
        found |= _place_for_results(agent)
    elif agent.properties.get("glue.catalog.id"):
        found["catalog_id"] = agent.properties["glue.catalog.id"]
    found["drops"] = "suppress" if agent.flag("glue.catalog.athena.suppressAllDropEvents", False) else "apply"
    found["on_conflict"] = "adopt" if agent.flag("glue.catalog.dropTableIfExists", False) else "park"
    creates = str(agent.flag("glue.catalog.createMissingDB", True)).lower()
    lines = [f"{key} = {toml_string(value)}" for key, value in found.items()]
    return ["[[targets]]", *lines, f"create_missing_databases = {creates}"]


def _place_for_results(agent: Agent) -> dict[str, str]:
    staging = agent.properties.get("glue.catalog.athena.s3.staging.dir") or agent.url.get("s3outputlocation", "")
    group = agent.url.get("workgroup", "")
    found = {"staging": _S3.sub("s3://", staging, count=1)} if _S3.match(staging) else {}
    if group or not found:
        # Athena needs one of the two, and every account has the work group `primary`.
        found["work_group"] = group or "primary"
    catalog = agent.url.get("catalog")
    return found | ({"catalog": catalog} if catalog else {})


def _notes(agent: Agent) -> Iterator[str]:
    if agent.has_secrets:
        yield "The configuration of the agent holds credentials. They are not copied: put them into a profile in"
        yield "  ~/.aws/credentials and set profile, or better use a role of the host. Remove them from hive-site.xml."
    yield f"Remove {LISTENER} from {_LISTENERS}:"
    yield "  if both write the same tables, they overwrite each other. Add what `pysync hive-site` prints."
    yield "The agent replicated only external tables on S3. pysync replicates all tables: select them with `include` or"
    yield "  `policy`, and map other locations to S3 with `locations`."
    yield "Tables that the agent created have no mark of pysync. " + _conflict_note(agent)
    yield "pysync also replicates alters, renames, databases and properties of partitions. The Glue API makes changes"
    yield '  that Athena DDL cannot express; with glue_api = "never" such events are parked.'
    yield "A failed statement is retried, or its event is parked (pysync parked list). No failure is ignored."
    if agent.is_by_athena and "work_group" in (found := _place_for_results(agent)) and "staging" not in found:
        yield "The agent has no staging location: set staging, or a work_group that has one."
    unused = [key for key in _WITHOUT_PLACE if key in agent.properties]
    if unused:
        yield f"No longer needed: {', '.join(unused)}."
    if any("${" in value for key, value in agent.properties.items() if key.startswith("glue.catalog.")):
        yield "A value refers to ${another} property: the value is copied unchanged."


def _conflict_note(agent: Agent) -> str:
    if agent.flag("glue.catalog.dropTableIfExists", False):
        return 'on_conflict = "adopt" alters them; pysync does not drop and create them again.'
    return 'Their events are parked until on_conflict is "adopt".'
