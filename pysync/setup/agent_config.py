"""A pysync.toml from the hive-site.xml of the AWS Glue sync agent for Hive, and what becomes different.

Both generations of the agent are read (`agent`). No secret is ever part of what is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import TextWrapper
from xml.etree import ElementTree

from pysync.base.errors import UsageError
from pysync.base.files import content
from pysync.base.text import toml_string
from pysync.setup.agent import LISTENER, Agent

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
        root = ElementTree.fromstring(content(path))  # noqa: S314, a file that HMS trusts as well
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}") from error
    pairs = ((each.findtext("name", ""), each.findtext("value", "")) for each in root.iter("property"))
    return {name.strip(): value.strip() for name, value in pairs}


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
