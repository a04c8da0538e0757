"""The outline of pysync.toml: enough to find the sidecar, and refused for what is wrong with that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.sections import load_outline, readable_outline

ROOT = Path(__file__).parents[2]
SOURCE = '[source]\nname = "onprem"\n'
TARGET = '[[targets]]\nname = "dr"\nkind = "faulty"\n'
WRONG_SECTIONS = [
    "[queue]\ndirectry = '/tmp'\n",
    "[queu]\ndirectory = '/tmp'\n",
    "[queue]\nretain = 'long'\n[web]\nport = -1\n",
    "[log]\nlevel = 3\n[sauce]\nx = 1\n",
]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "pysync.toml"


def refused(load, file):
    with pytest.raises(UsageError) as error:
        load(file)
    return re.sub(rf"{re.escape(str(file))}(:\d+:\d+)?: ", "", str(error.value)).splitlines()


def test_it_is_what_the_configuration_says():
    path = ROOT / "conf" / "pysync.toml"
    outline, config = load_outline(path), load_config(path)
    assert outline.directory == config.queue.directory
    assert outline.targets == tuple(target.name for target in config.targets) != ()


def test_the_directory_and_all_names_are_read(file):
    file.write_text(SOURCE + "[queue]\ndirectory = '/q'\n" + TARGET + TARGET.replace("dr", "lake"))
    assert (load_outline(file).directory, load_outline(file).targets) == (Path("/q"), ("dr", "lake"))


@pytest.mark.parametrize("text", WRONG_SECTIONS)
def test_sections_are_refused_as_by_the_configuration(file, text):
    file.write_text(SOURCE + text + TARGET)
    assert refused(load_outline, file) == refused(load_config, file) != []


@pytest.mark.parametrize(
    "text", [SOURCE, "targets = []\n" + SOURCE, "targets = 'dr'\n" + SOURCE, "[source", "\xff = 1"]
)
def test_so_is_a_file_without_targets_or_without_sense(file, text):
    file.write_text(text, encoding="latin-1")
    assert refused(load_outline, file) == refused(load_config, file) != []


def test_targets_are_refused_for_their_names_alone(file):
    file.write_text(SOURCE + TARGET + "polcy = 1\n[[targets]]\nname = 'x'\nkind = 'absent'\n")
    assert load_outline(file).targets == ("dr", "x")
    file.write_text("targets = [1, { kind = 'hms' }, { name = '../x' }]\n" + SOURCE)
    missing, also, odd = refused(load_outline, file)
    assert (missing, also) == ("targets[0].name: missing", "targets[1].name: missing")
    assert odd.startswith("targets[2].name: '../x' is not a valid name; use ")


@pytest.mark.parametrize(
    "wrong",
    [*WRONG_SECTIONS[1::2], "[log]\nformat = \n", "[log]\nx = [\n[web]\n", "[[targets]]\nname = \n", "[queue"],
)
def test_of_a_wrong_file_the_queue_and_the_targets_are_read(file, wrong):
    targets = f"{TARGET}[targets.copy]\nrewrite = 'orc'\n[[targets]]\nname = 'x'\n"
    file.write_text(f"{SOURCE}[queue]\ndirectory = '/q'\n{targets}{wrong}")
    outline = readable_outline(file)
    assert (outline.directory, outline.targets) == (Path("/q"), ("dr", "x"))


def test_without_a_queue_that_can_be_read_nothing_is(file):
    file.write_text(f"{SOURCE}[queue]\ndirectory = 3\n{TARGET}")
    assert readable_outline(file) is None
