"""The example of a target kind: short, found by its entry point, and run by whoever names its harness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.config import load_config
from pysync.targets.base import Unavailable
from pysync.targets.kinds import installed, kind_names, target_kind
from tests.conformance.harness_directory import EXAMPLE

_MOST_LINES = 199


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    installed.cache_clear()  # a test before may have looked
    yield
    installed.cache_clear()


def test_the_module_stays_short() -> None:
    assert len((EXAMPLE / "directory_target.py").read_text().splitlines()) <= _MOST_LINES


@pytest.mark.usefixtures("_installed")
def test_the_kind_is_found_by_its_entry_point() -> None:
    kind = target_kind("directory")
    assert (kind.settings.__name__, kind.settings.__module__) == ("DirectorySettings", "directory_target")
    assert "directory" in kind_names()


@pytest.mark.usefixtures("_installed")
def test_a_configuration_may_name_it(tmp_path: Path) -> None:
    target = f'[[targets]]\nname = "files"\nkind = "directory"\ndirectory = "{tmp_path}"\n'
    (tmp_path / "pysync.toml").write_text(f'[source]\nname = "onprem"\n{target}')
    (settings,) = load_config(tmp_path / "pysync.toml").targets
    assert target_kind("directory").open(settings).check() == f"0 databases in {tmp_path}"


@pytest.mark.usefixtures("_installed")
def test_a_directory_that_is_not_there_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    kind = target_kind("directory")
    target = kind.open(kind.settings.model_validate({"name": "dr", "kind": "directory", "directory": tmp_path / "no"}))
    with pytest.raises(Unavailable, match="does not exist"):
        target.databases()
