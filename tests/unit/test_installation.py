"""What is said of the installation works: extras from the wheel, the unit that is there, the rights of the sidecar."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from pysync.base import installation
from pysync.base.installation import install_extra, start_sidecar
from pysync.cli import check as check_module
from pysync.control.client import NoSidecar, ask
from pysync.setup.check import Finding
from tests.support.sidecars import FaultyPlace, pysync_here

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
NOBODY = 65534


def test_every_extra_that_is_named_is_one_and_comes_from_the_wheel() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = {path: path.read_text() for path in [*ROOT.glob("docs/*.md"), *ROOT.glob("pysync/**/*.py")]}
    named = {extra for it in texts.values() for extra in re.findall(r"install_extra\([\"'](\w+)[\"']\)", it)}
    named |= {extra for it in texts.values() for extra in re.findall(r"pysync-\*\.whl\)\[(\w+)\]", it)}
    assert {"aws", "web", "spark"} <= named <= known.keys()
    from_index = re.compile(r"pip install (?!--)[^\n]*'pysync\[")
    assert [path for path, text in texts.items() if from_index.search(text)] == [], "pysync is in no package index"
    assert install_extra("aws") == 'pip install "$(ls dist/pysync-*.whl)[aws]"'


def test_where_a_unit_is_installed_that_is_to_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "UNITS", tmp_path)
    assert start_sidecar() == "pysync run -c FILE"
    (tmp_path / "pysync.service").touch()
    with pytest.raises(NoSidecar) as refused:
        ask(tmp_path, "status")
    assert refused.value.hint == "start the sidecar: systemctl start pysync"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take the rights of another user")
def test_root_checks_with_the_rights_of_the_queue_s_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, users = FaultyPlace(tmp_path), list[int]()

    def checked(_: object) -> list[Finding]:
        users.append(os.geteuid())
        return []

    monkeypatch.setattr(check_module, "check_config", checked)
    assert pysync_here("check", "-c", place.file).returncode == 0
    place.queue.mkdir()
    os.chown(place.queue, NOBODY, NOBODY)
    assert pysync_here("check", "-c", place.file).returncode == 0
    assert (users, os.geteuid()) == ([0, NOBODY], 0)
