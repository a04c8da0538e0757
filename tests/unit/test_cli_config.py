"""Which pysync.toml a command reads (`-c`, else PYSYNC_CONFIG, else /etc/pysync/pysync.toml), and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pysync.base.errors import PysyncError
from pysync.cli import output
from pysync.cli.app import app, main

MINIMAL = '[source]\nname = "onprem"\n[queue]\ndirectory = "{queue}"\n[[targets]]\nname = "dr"\nkind = "faulty"\n'


def configured(place: Path) -> Path:
    """A pysync.toml with a queue directory that shows in the refusal of `status`, as no sidecar runs on it."""
    place.mkdir()
    file = place / "pysync.toml"
    file.write_text(MINIMAL.format(queue=place / "queue"))
    return file


def refusal(*arguments: str, **environment: str) -> str:
    done = CliRunner().invoke(app, ["status", *arguments], env={"PYSYNC_CONFIG": None, **environment})
    assert isinstance(done.exception, PysyncError), done.output
    return str(done.exception)


@pytest.fixture
def by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = configured(tmp_path / "default")
    monkeypatch.setattr(output, "DEFAULT_CONFIG", file)
    return file


def test_without_an_option_the_file_in_etc_is_read(by_default: Path) -> None:
    assert str(by_default.parent / "queue") in refusal()


def test_the_environment_comes_before_the_file_in_etc(by_default: Path, tmp_path: Path) -> None:
    file = configured(tmp_path / "environment")
    assert str(file.parent / "queue") in refusal(PYSYNC_CONFIG=str(file))
    assert by_default.exists()


def test_the_option_comes_before_the_environment(tmp_path: Path) -> None:
    given, other = configured(tmp_path / "option"), configured(tmp_path / "environment")
    assert str(given.parent / "queue") in refusal("-c", str(given), PYSYNC_CONFIG=str(other))


def test_a_file_that_is_missing_is_named_with_the_ways_to_name_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "DEFAULT_CONFIG", Path("/nowhere/pysync.toml"))
    message = refusal()
    assert message.startswith("cannot read /nowhere/pysync.toml: No such file or directory; pysync init makes one; or ")
    assert "-c" in message
    assert "PYSYNC_CONFIG" in message


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_has_a_short_option(option: str) -> None:
    done = CliRunner().invoke(app, [option])
    assert (done.exit_code, done.output.split()[0]) == (0, "pysync")


def test_a_failure_with_json_is_one_json_object(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["pysync", "status", "-c", "/nowhere/pysync.toml", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    message = capfd.readouterr()
    error = json.loads(message.out)["error"]
    assert (ended.value.code, error["exit_code"], message.err) == (2, 2, "")
    assert error["message"].startswith("cannot read /nowhere/pysync.toml: ")
    assert "PYSYNC_CONFIG" in error["hint"]


def test_a_failure_without_json_is_a_line_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["pysync", "status", "-c", "/nowhere/pysync.toml"])
    with pytest.raises(SystemExit) as ended:
        main()
    message = capfd.readouterr()
    assert (ended.value.code, message.out, len(message.err.splitlines())) == (2, "", 1)
    assert message.err.startswith("pysync: cannot read /nowhere/pysync.toml: ")
