"""Failback: a target's objects on their way back to the cluster that they came from: docs/operating.md."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.config import load_config
from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.show import compare
from pysync.metastore.client import Metastore
from pysync.verify.compare import EQUAL, FOREIGN
from tests.support.dumps import Ends, fill
from tests.support.sidecars import pysync

_BACK = """\
[source]
name = "dr"
metastore = "{source}"
[queue]
directory = "{queue}"
min_free_mb = 0
[[targets]]
name = "{name}"
kind = "hms"
metastore = "{target}"
locations = {{ "file:{there}" = "file:{here}" }}
{more}
"""


@pytest.fixture
def ends(tmp_path: Path, metastores) -> Ends:
    """A source with three tables and a function, and a target that has loaded them."""
    made = Ends(tmp_path, metastores("source"), metastores("target"))
    fill(made.source.uri, "shop", tables=1, large=3)
    made.dump(tmp_path / "dump")
    made.load(tmp_path / "dump")
    return made


class Back:
    """The configuration at the target, which is the source now; `name` is that of its target, the former source."""

    def __init__(self, directory: Path, source: EmbeddedMetastore, target: EmbeddedMetastore) -> None:
        self.directory, self.source, self.target = directory, source, target
        self.file = directory / "back.toml"

    def write(self, name: str, more: str = "") -> None:
        ends = {"source": self.source.uri, "target": self.target.uri}
        warehouses = {"there": self.source.warehouse, "here": self.target.warehouse}
        queue = self.directory / f"queue-{name}"
        self.file.write_text(_BACK.format(name=name, queue=queue, more=more, **ends, **warehouses))

    def unequal(self) -> list[Any]:
        found = compare(self.source.uri, self.target.uri, load_config(self.file).targets[0], "dr")
        return [item for item in found if item.result != EQUAL]


@pytest.mark.crash
def test_nothing_that_came_from_the_target_goes_back_and_the_commands_say_so(ends: Ends, tmp_path: Path) -> None:
    back = Back(tmp_path, ends.target, ends.source)
    back.write("onprem")
    done = pysync("bootstrap", "-c", back.file)
    assert done.returncode == 1, "nothing was written, and the exit code was 0"
    assert "target onprem: 3 of 3 tables left out, because they came from the target's own cluster" in done.stdout
    assert "docs/operating.md" in done.stdout
    found = json.loads(pysync("bootstrap", "-c", back.file, "--json").stdout)
    assert [(it["tables"], it["left_out"]) for it in found["targets"]] == [(3, 3)]

    assert pysync("dump", "-c", back.file, tmp_path / "back").returncode == 0
    done = pysync("load", "-c", back.file, tmp_path / "back")
    assert (done.returncode, "onprem: loaded 0 tables" in done.stdout) == (1, True), done.stdout
    assert "3 of 3 tables left out" in done.stdout
    done = pysync("repl", "-c", back.file, f"REPL LOAD FROM '{tmp_path / 'back'}'")
    assert (done.returncode, "3 of 3 tables left out" in done.stderr) == (1, True), done.stderr
    reported = pysync("why", "-c", back.file, "shop.plain").stdout
    assert "shop.plain is not from this source, so it was left as it is" in " ".join(reported.split()), reported

    with closing(Metastore(ends.target.uri)) as there:
        fill(ends.target.uri, "new_there", tables=0, large=1, key=False)
        assert there.tables("new_there") == ["large", "plain"]
    done = pysync("bootstrap", "-c", back.file)
    assert (done.returncode, "3 of 5 tables left out" in done.stdout) == (0, True), done.stdout


@pytest.mark.crash
def test_under_another_name_of_the_target_all_goes_back(ends: Ends, tmp_path: Path) -> None:
    """The way that docs/operating.md describes."""
    with closing(Metastore(ends.target.uri)) as there:
        changed = there.table("shop", "plain")
        changed.parameters["changed"] = "there"
        there.call(lambda client: client.alter_table("shop", "plain", changed))
        there.call(lambda client: client.drop_table("shop", "t000", False))
        fill(ends.target.uri, "new_there", tables=0, large=1, key=False)
    back = Back(tmp_path, ends.target, ends.source)
    back.write("onprem-back", 'on_conflict = "adopt"')
    done = pysync("bootstrap", "-c", back.file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(it.name, it.result) for it in back.unequal()] == [("shop.t000", FOREIGN)], "a drop does not go back"
    with closing(Metastore(ends.source.uri)) as first:
        assert first.table("shop", "plain").parameters["changed"] == "there"
        assert first.tables("new_there") == ["large", "plain"]
