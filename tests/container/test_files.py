"""The Containerfile, the compose file and the manifests, by the checkers and schemas of others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.container.conftest import MANIFESTS
from tests.container.images import CONTAINERFILE, ROOT

COMPOSE = ROOT / "conf" / "container" / "compose.yaml"
TOOLS = Path(os.environ.get("PYSYNC_CONTAINER_TOOLS", ROOT / "build" / "container" / "tools")) / "bin"

_PARSE = "import sys; from compose_spec import PyCompose; PyCompose.from_yaml(sys.stdin.read())"


def tool(name: str, *arguments: object, text: str | None = None) -> tuple[int, str]:
    """The exit code of a tool, and what it says."""
    program = TOOLS / name
    assert program.exists(), f"{program} is missing: make test SUITE=container installs it"
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, input=text, check=False, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def compose_says(text: str) -> tuple[int, str]:
    # The parser takes no anchors, and knows no x-.
    content = yaml.safe_load(text)
    services = {key: value for key, value in content.items() if not key.startswith("x-")}
    return tool("python", "-c", _PARSE, text=yaml.safe_dump(services))


def test_hadolint_finds_nothing_in_the_containerfile() -> None:
    assert tool("hadolint", "--no-color", CONTAINERFILE) == (0, "")


def test_hadolint_would_find_something() -> None:
    text = CONTAINERFILE.read_text().replace("'tini=0.19.*'", "tini")
    code, output = tool("hadolint", "--no-color", "-", text=text)
    assert code == 1
    assert "DL3008" in output


@pytest.mark.parametrize("version", ["1.25", "1.31", "1.37"])
def test_the_manifests_are_valid(version: str) -> None:
    code, output = tool("kubernetes-validate", "--strict", "-k", version, MANIFESTS)
    assert code == 0, output
    assert output.count("passed") == 3


def test_a_misspelt_key_of_the_manifests_would_be_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(MANIFESTS.read_text().replace("readOnlyRootFilesystem", "readonlyRootFilesystem"))
    code, output = tool("kubernetes-validate", "--strict", wrong)
    assert code != 0
    assert "readonlyRootFilesystem" in output


def test_the_compose_file_is_valid() -> None:
    assert compose_says(COMPOSE.read_text()) == (0, "")


@pytest.mark.parametrize(("right", "wrong"), [("read_only:", "readonly:"), ("completed_successfully", "finished")])
def test_a_mistake_in_the_compose_file_would_be_found(right: str, wrong: str) -> None:
    code, output = compose_says(COMPOSE.read_text().replace(right, wrong))
    assert code != 0
    assert wrong.rstrip(":") in output
