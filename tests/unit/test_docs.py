"""The docs keep up: commands, configuration keys and the status are written down, and tests have names to read."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import typer

from pysync.cli.app import app
from pysync.config import load_config
from pysync.sections import BridgeConfig, LogConfig, QueueConfig, SourceConfig, SparkConfig, VerifyConfig, WebConfig
from pysync.targets.faulty import Fault
from pysync.targets.hms import HmsSettings
from pysync.targets.kinds import GROUP
from pysync.targets.settings import TargetSettings

ROOT = Path(__file__).parents[2]
CONF = (ROOT / "conf" / "pysync.toml").read_text()
MODELS = [SourceConfig, BridgeConfig, QueueConfig, VerifyConfig, WebConfig, SparkConfig, LogConfig]
MODELS += [TargetSettings, *(it.load().settings for it in entry_points(group=GROUP) if it.module.startswith("pysync."))]
STATUS_KEYS = "version source pid started_at bridge queue instances targets"


def commands(group, path="pysync"):
    """`pysync run`, `pysync parked list`, …"""
    if not hasattr(group, "list_commands"):
        return [path]
    names = group.list_commands(None)
    return [found for name in names for found in commands(group.get_command(None, name), f"{path} {name}")]


@pytest.mark.parametrize("command", commands(typer.main.get_command(app)))
def test_every_command_is_in_the_readme(command):
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(f"| `{command}")]
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("model", "key"), [(model, field.alias or key) for model in MODELS for key, field in model.model_fields.items()]
)
def test_every_key_is_in_the_configuration_that_is_shipped(model, key):
    assert re.search(rf"^(# *)?{key} = ", CONF, re.MULTILINE), f"{model.__name__}.{key} is not in conf/pysync.toml"


@pytest.mark.parametrize("kind", Fault.model_fields["kind"].annotation.__args__)
def test_every_fault_is_shown(kind):
    assert f'kind = "{kind}"' in CONF


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
    assert re.search(rf"^\| `{key}[`.\[]", (ROOT / "docs" / "status.md").read_text(), re.MULTILINE)


def test_every_command_and_option_says_what_it_is_for():
    silent = []
    for name in commands(typer.main.get_command(app)):
        found = typer.main.get_command(app)
        for part in name.split()[1:]:
            found = found.get_command(None, part)
        silent += [name] if not found.help else []
        silent += [f"{name} {item.name}" for item in found.params if not getattr(item, "help", None)]
    assert silent == []


def test_no_name_of_a_test_is_longer_than_80_characters():
    """What does not fit is for the docstring."""
    long = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        names = re.findall(r"^ *(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
        long += [f"{file.relative_to(ROOT)}: {name}" for name in names if len(name) > 80]
    assert long == [], "\n".join(long)
