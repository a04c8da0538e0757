"""Agent conf: a pysync.toml from the hive-site.xml of the AWS Glue sync agent for Hive, and what becomes different.

Both generations of the agent are read (`agent`). No secret is ever part of what is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

from pysync.errors import UsageError
from pysync.metastore.addresses import parse_addresses
from pysync.migration.agent import LISTENER, Agent
from pysync.text import toml_string

_LISTENERS = "hive.metastore.event.listeners"
_S3 = re.compile(r"s3[an]?://", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]+")


def import_agent_conf(hive_site: Path, source: str) -> str:
    """A pysync.toml that does what the agent did, headed by what is different.

    Raises UsageError when the file cannot be read, or does not configure the agent.
    """
    agent = Agent(_read(hive_site))
    if not agent.is_configured:
        raise UsageError(
            f"{hive_site} does not configure the Glue sync agent", f"the file has neither {LISTENER} nor its keys"
        )
    head = [f"# From {json.dumps(hive_site.name)} by `pysync import-agent-conf`. Differences:", "#"]
    notes = [f"# - {note}" for note in _notes(agent)]
    return "\n".join([*head, *notes, "", *_source(agent, source), "", *_target(agent), ""])


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
    uris = agent.get("hive.metastore.uris") or agent.get("metastore.thrift.uris")
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
    found |= {"region": agent.region} if agent.region else {}
    if agent.is_by_athena:
        found |= _athena(agent)
    elif agent.get("glue.catalog.id"):
        found["catalog_id"] = agent.get("glue.catalog.id")
    found["drops"] = "suppress" if agent.suppresses_drops else "apply"
    found["on_conflict"] = "adopt" if agent.flag("glue.catalog.dropTableIfExists", False) else "park"
    creates = str(agent.flag("glue.catalog.createMissingDB", True)).lower()
    lines = [f"{key} = {toml_string(value)}" for key, value in found.items()]
    return ["[[targets]]", *lines, f"create_missing_databases = {creates}", *_taken(agent)]


def _taken(agent: Agent) -> list[str]:
    """The tables that it replicates, by their definition."""
    types = ("EXTERNAL_TABLE",) if agent.is_by_athena else ("EXTERNAL_TABLE", "MANAGED_TABLE")
    found = {"include_schemes": ("s3", "s3a", "s3n"), "include_types": types}
    if not agent.is_by_athena:
        found["exclude_parameters"] = ("storage_handler", "table.system.ownership=gdc")
    return [f"{key} = [{', '.join(map(toml_string, values))}]" for key, values in found.items()]


def _athena(agent: Agent) -> dict[str, str]:
    group = agent.address.get("workgroup", "")
    found = {"staging": _S3.sub("s3://", agent.staging, count=1)} if _S3.match(agent.staging) else {}
    if group or not found:
        # Athena needs one of the two, and every account has the work group `primary`.
        found["work_group"] = group or "primary"
    catalog = agent.address.get("catalog")
    found |= {"catalog": catalog} if catalog else {}
    return found | ({"athena_endpoint_url": agent.endpoint} if agent.endpoint else {})


def _notes(agent: Agent) -> Iterator[str]:
    yield from _warnings(agent)
    yield f"Remove {LISTENER} from {_LISTENERS}:"
    yield "  if both write the same tables, they overwrite each other. Add what `pysync hive-site` prints."
    yield "As the agent did, the target takes only some tables (include_schemes, include_types, exclude_parameters)."
    yield "  pysync can replicate views and tables elsewhere, too: map their locations to S3 with `locations`."
    yield "  The agent looked at the location of each partition. pysync looks at the table's."
    yield "Tables that the agent created have no mark of pysync. " + _conflict_note(agent)
    yield "pysync also replicates alters, renames, databases and properties of partitions. The Glue API makes changes"
    yield '  that Athena DDL cannot express; with glue_api = "never" such events are parked.'
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
        yield "The configuration of the agent holds credentials. They are not copied: put them into a profile in"
        yield "  ~/.aws/credentials and set profile, or better use a role of the host. Remove them from hive-site.xml."
    if agent.unread:
        yield f"WARNING: keys that pysync does not know, and has NOT taken over: {_listed(agent.unread)}"
    if agent.unread_of_address:
        yield f"WARNING: settings of the JDBC address that are NOT taken over: {_listed(agent.unread_of_address)}"
    if agent.is_mixed:
        yield "WARNING: it has keys of both generations of the agent. It is read as one of the second, which calls the"
        yield "  Glue API; of the first one's glue.catalog.athena.* keys only suppressAllDropEvents is read."
    if not agent.has_region:
        yield f"WARNING: the agent was told of no region, so it writes to {agent.region}: set region if it is another."
    if agent.odd_suppressions:
        yield f"WARNING: the agent may not have followed {_listed(agent.odd_suppressions)}, because its generation has"
        yield "  another key, or because the value is neither true nor false. Check drops."
    if agent.endpoint:
        yield "WARNING: the agent reaches Athena at an endpoint of its own (athena_endpoint_url). pysync calls Glue,"
        yield "  too: if Glue cannot be reached at its public endpoint, set glue_endpoint_url."
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
