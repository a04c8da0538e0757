"""The docs keep up: commands, configuration keys and the status are written down, and tests have names to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from pysync.cli.app import app
from pysync.cli.commands import SECTIONS
from pysync.config import load_config
from pysync.lab.faulty import Fault
from pysync.metastore.settings import KerberosSettings, LoginSettings, TlsSettings
from pysync.sections import (
    BridgeConfig,
    DumpConfig,
    LogConfig,
    NotifyConfig,
    QueueConfig,
    Sections,
    SourceConfig,
    VerifyConfig,
    WebConfig,
)
from pysync.targets.aws.settings import AssumeRole
from pysync.targets.hms import HmsSettings
from pysync.targets.kinds import GROUP
from pysync.targets.settings import CopySettings, TargetSettings
from pysync.targets.spark_request import SparkConfig
from tests.support import commandtable

ROOT = Path(__file__).parents[2]
CONF = (ROOT / "conf" / "pysync.toml").read_text()
MODELS = [SourceConfig, BridgeConfig, QueueConfig, DumpConfig, VerifyConfig, WebConfig, SparkConfig, LogConfig]
MODELS += [NotifyConfig]
MODELS += [TargetSettings, *(it.load().settings for it in entry_points(group=GROUP) if it.module.startswith("pysync."))]
VERBS = frozenset(
    re.findall(
        r"\w+",
        "Add Apply Change Check Compare Convert Copy Create Disable Drop Enable Export Give Import Keep List Make "
        "Print Reload Remove Rename Replicate Restore Resume Retry Run Show Skip Stop Take Wait",
    )
)
STATUS_KEYS = "version source pid started_at bridge queue instances targets"


def commands(group, path="pysync"):
    """`pysync run`, `pysync parked list`, …"""
    if not hasattr(group, "list_commands"):
        return [path]
    names = group.list_commands(None)
    return [found for name in names for found in commands(group.get_command(None, name), f"{path} {name}")]


@pytest.mark.parametrize("command", commands(typer.main.get_command(app)))
def test_every_command_is_in_the_table_of_commands(command):
    page = (ROOT / "docs" / "commands.md").read_text()
    assert len(re.findall(rf"^\| `{command}[ `]", page, re.MULTILINE)) == 1


def test_the_tables_of_commands_are_made_from_their_help():
    assert commandtable.PAGE.read_text() == commandtable.page(), "run: make man"


@pytest.mark.parametrize(
    ("model", "key"), [(model, field.alias or key) for model in MODELS for key, field in model.model_fields.items()]
)
def test_every_key_is_in_the_configuration_that_is_shipped(model, key):
    assert re.search(rf"^(# *)?{key} = ", CONF, re.MULTILINE), f"{model.__name__}.{key} is not in conf/pysync.toml"


@pytest.mark.parametrize("kind", Fault.model_fields["kind"].annotation.__args__)
def test_every_fault_is_shown(kind):
    assert f'kind = "{kind}"' in CONF


def with_json(command: Any, path: str = "") -> Iterator[str]:
    """The commands that can print JSON."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from with_json(command.get_command(None, name), f"{path} {name}".strip())
    elif any("--json" in it.opts for it in command.params):
        yield path


@pytest.mark.parametrize("command", [it for it in with_json(typer.main.get_command(app)) if it != "demo"])
def test_the_page_on_json_says_where_the_keys_of_each_command_are(command):
    """Those of the demo are not promised (docs/versions.md)."""
    page = (ROOT / "docs" / "status.md").read_text()
    index = page.partition("## JSON: types and errors")[2].partition("\n## ")[0]
    headings = re.findall(r"^## `pysync ([\w ]+?)(?: --dry-run)? --json`$", page, re.MULTILINE)
    rest = page.partition("## Other commands with `--json`")[2]
    cells = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", rest, re.MULTILINE)
    named = {*headings, *re.findall(r"`([\w -]+)`", index), *cells}
    homes = {word for it in named for word in it.replace("`", "").split(", ")}
    family, _, verb = command.partition(" ")
    assert {command, family} & homes or (family == "target" and verb in homes)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_every_default_that_is_shown_is_the_default():
    """A commented key of a scalar, in the part before the examples of `faulty`."""
    plain = load_config(ROOT / "conf" / "pysync.toml").targets[0]
    for line in CONF.split("# The AWS Glue Data Catalog")[0].splitlines():
        found = re.match(r'# (\w+) = (true|false|[\d.]+|"(?:apply|park)")(?:\s|$)', line)
        if found and found[1] in HmsSettings.model_fields:
            shown = found[2].strip('"')
            assert str(getattr(plain, found[1])).lower() == str(_number(shown)), line


def _number(text: str) -> object:
    return float(text) if "." in text else text


@pytest.mark.parametrize("key", STATUS_KEYS.split())
def test_every_part_of_the_status_is_described(key):
    assert re.search(rf"^\| [^|]*`{key}[`.\[]", (ROOT / "docs" / "status.md").read_text(), re.MULTILINE)


def helps(part=None, path="pysync") -> dict[str, str]:
    """The help of every command, group, argument and option, by its name."""
    part = part or typer.main.get_command(app)
    found = {path: part.help} | {f"{path} {it.name}": getattr(it, "help", None) for it in part.params}
    found = {name: " ".join((text or "").split()) for name, text in found.items()}
    for name in part.list_commands(None) if hasattr(part, "list_commands") else ():
        found |= helps(part.get_command(None, name), f"{path} {name}")
    return found


def test_every_command_and_option_says_what_it_is_for():
    assert [name for name, text in helps().items() if not text] == []


def test_help_is_made_of_sentences():
    assert [name for name, text in helps().items() if not re.fullmatch(r"[A-Z-].*\.", text)] == []


def test_the_help_of_a_command_begins_with_a_verb():
    """As `Show the …`: neither with a noun nor with the form that ends in s."""
    names = {"pysync", "pysync parked", "pysync target", "pysync listener", *commands(typer.main.get_command(app))}
    texts = helps()
    assert {name: texts[name] for name in names if texts[name].split()[0].strip(",") not in VERBS} == {}


def test_the_list_of_commands_says_what_each_does():
    for name, (_, text) in ((name, it) for section in SECTIONS.values() for name, it in section.items()):
        assert text.split()[0].strip(",") in VERBS, f"{name}: {text}"
        assert text.endswith("."), f"{name}: {text}"


@pytest.mark.parametrize(
    "model", [Sections, *MODELS, CopySettings, AssumeRole, Fault, TlsSettings, KerberosSettings, LoginSettings]
)
def test_every_key_of_the_configuration_is_described_in_sentences(model):
    keys = {key: field.description or "" for key, field in model.model_fields.items()}
    # A section tells by its own keys; the kind of a target is its name.
    own = {key: text for key, text in keys.items() if not _is_section(model, key) and (key != "kind" or text)}
    assert [key for key, text in own.items() if not re.fullmatch(r"\S.*\.", text)] == []
    plain = ("none", "columns: ", "shadow: ", "metadata: ", "pysync.source.name ", "yarn, ")
    assert [key for key, text in own.items() if not text.startswith((*ascii_uppercase, *plain))] == []


def _is_section(model: type, key: str) -> bool:
    kind = model.model_fields[key].annotation
    return model is Sections and isinstance(kind, type) and issubclass(kind, BaseModel)


def test_no_name_of_a_test_is_longer_than_80_characters():
    """What does not fit is for the docstring."""
    long = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        names = re.findall(r"^ *(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
        long += [f"{file.relative_to(ROOT)}: {name}" for name in names if len(name) > 80]
    assert long == [], "\n".join(long)
