"""A load writes data files below the mapped prefixes only; what belongs elsewhere is refused, and the rest goes on."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.copy.copy_round import Copied
from pysync.dump.index import FILES, KIND, SUFFIX, indexed
from pysync.dump.pieces import opened
from pysync.dump.record import HEAD
from pysync.dump.write import DumpSelection, Writing
from pysync.jobs.dump_carrying import Into
from pysync.model.file_differences import FileDifference, Pair
from pysync.resync.wanted import EVERYTHING
from tests.support.dumped import ASKED, Source
from tests.support.sidecars import pysync_here

DAY = [hive.FieldSchema("day", "string", None)]


class Copier:
    """Copies the only file of each directory, `authorized_keys`."""

    def copy(self, pairs: Sequence[Pair], *, removed: object = None) -> Copied:  # noqa: ARG002
        for pair in pairs:
            place = Path(pair.target.removeprefix("file:"))
            place.mkdir(parents=True, exist_ok=True)
            (place / "authorized_keys").write_text("of the source")
        return Copied()

    def survey(self, pairs: Sequence[Pair]) -> list[FileDifference]:
        return [FileDifference(it, exists=True, same=1) for it in pairs]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of a person at the target, whom no prefix names."""
    made = tmp_path / "home" / ".ssh"
    made.mkdir(parents=True)
    (made / "authorized_keys").write_text("of the person")
    (made / "id_rsa").write_text("key")
    return made


def dumped(directory: Path, home: Path) -> Path:
    """A dump with the files of db.odd, which is at `home`, without those of db.apart; and two tables without any."""
    source = Source()
    source.add("db.odd").sd.location = f"file:{home}"
    source.add("db.apart").sd.location = "file:/apart/apart"
    for name, location in (("db.days", "file:/here/days"), ("db.parts", "file:/here/parts")):
        made = source.add(name)
        made.sd.location, made.partitionKeys = location, DAY
    under = ("file:/here", f"file:{home}")
    wanted = ASKED.model_copy(update={"files": "copy", "data_under": under})
    with opened(directory, wanted) as pieces:
        pieces.write(KIND, SUFFIX, HEAD, Writing(source, DumpSelection(EVERYTHING)).parts(lambda *_: None))
        tables = indexed(directory, pieces.manifest).tables()
        into = Into(Copier(), directory, under)  # type: ignore[arg-type]
        pieces.write(FILES, "jsonl", b"", into.parts(source, tables, None, lambda _: None))
        pieces.finish(pieces.manifest.model_copy(update={"finished_at": 101.0}))
    return directory


@pytest.fixture
def target() -> str:
    """A name of its own: targets of kind faulty with one name have the same objects in a process."""
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def config(tmp_path: Path, target: str) -> Path:
    file = tmp_path / "there.toml"
    file.write_text(f"""
[source]
name = "onprem"
[queue]
directory = "{tmp_path / "queue"}"
min_free_mb = 0
[[targets]]
name = "{target}"
kind = "faulty"
copy = true
locations = {{ "file:/here" = "file:{tmp_path}/there", "file:/apart" = "file:{tmp_path}/there/apart" }}
""")
    return file


def test_a_plan_names_what_a_load_refuses(tmp_path: Path, home: Path, config: Path, target: str) -> None:
    dump = dumped(tmp_path / "dump", home)
    done = pysync_here("load", "-c", config, dump, "--dry-run", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    (plan,) = json.loads(done.stdout)["targets"]
    assert plan["put"] == ["db.days", "db.parts"]
    refused = {it["table"]: it["reason"] for it in plan["refused"]}
    assert refused.keys() == {"db.apart", "db.odd"}
    assert "the data files of file:/apart/apart are not in the dump" in refused["db.apart"]
    assert f"file:{home} is not below a prefix in locations of target '{target}'" in refused["db.odd"]
    text = pysync_here("load", "-c", config, dump, "--dry-run")
    assert f"target {target} refuses db.odd: " in text.stdout
    metadata = pysync_here("load", "-c", config, dump, "--dry-run", "--json", "--files", "none")
    assert (metadata.returncode, json.loads(metadata.stdout)["targets"][0]["refused"]) == (0, [])


def test_a_load_leaves_out_what_belongs_elsewhere_and_goes_on(tmp_path: Path, home: Path, config: Path) -> None:
    """Before: it replaced the person's file, and deleted another one."""
    done = pysync_here("load", "-c", config, dumped(tmp_path / "dump", home), "--json")
    assert done.returncode == 1, done.stderr
    (loaded,) = json.loads(done.stdout)["targets"]
    refused = {it["table"]: it["reason"] for it in loaded["parked"]}
    assert refused.keys() == {"db.apart", "db.odd"}
    assert "the data files of file:/apart/apart are not in the dump" in refused["db.apart"]
    assert f"file:{home} is not below a prefix" in refused["db.odd"]
    assert loaded["tables"] == 2
    assert {it.name: it.read_text() for it in home.iterdir()} == {"authorized_keys": "of the person", "id_rsa": "key"}
