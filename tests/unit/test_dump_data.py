"""The data files of a dump: where they are, what is told of them, and that nothing damaged gets through."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import PysyncError, UsageError
from pysync.cli.dump import _print_dumped
from pysync.config import Config, load_config
from pysync.copy.copier import Copier as RealCopier
from pysync.copy.copy_round import Copied
from pysync.copy.requests import decode, encode
from pysync.dump.data import DATA, FileLine, PageLine, check, last_page, lines_of, place_of, stored, to_bytes
from pysync.dump.index import FILES, Dump, not_taken
from pysync.dump.manifest import DumpCounts, Manifest
from pysync.dump.pieces import opened
from pysync.dump.record import DumpDamaged
from pysync.jobs.dump_carrying import Into, OutOf
from pysync.jobs.loading import load_once
from pysync.model.file_differences import FileDifference, FileStatus, Pair
from pysync.model.names import TableName
from pysync.sections import SourceConfig
from pysync.targets.base import Unavailable
from pysync.targets.settings import CopySettings, TargetSettings
from tests.support.dumped import ASKED
from tests.support.sidecars import assert_one_line, pysync_here

T = TableName("db", "t")
LOCATION = "hdfs://nn/warehouse/t/day=1"
NN = ("hdfs://nn",)


def files(directory: Path, **contents: bytes) -> Path:
    place = place_of(directory, LOCATION)
    for name, content in contents.items():
        path = place / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place


def test_files_are_found_by_their_location_alone(tmp_path: Path) -> None:
    assert place_of(tmp_path, LOCATION) == place_of(tmp_path, f"{LOCATION}/")
    assert place_of(tmp_path, LOCATION) != place_of(tmp_path, LOCATION[:-1])
    assert place_of(tmp_path, "file:/a b/é\n%2F").parents[1] == tmp_path / DATA


def test_every_file_is_told_of_with_what_is_in_it(tmp_path: Path) -> None:
    files(tmp_path, a=b"x" * 3_000_000, sub___SUCCESS=b"", b=b"12")
    data, counts = to_bytes(PageLine("db", "t", 0), stored(tmp_path, T, f"{LOCATION}/"))
    page, *found = lines_of(data)
    assert page == PageLine("db", "t", 0)
    assert [(it.path, it.bytes) for it in found if isinstance(it, FileLine)] == [
        (f"{LOCATION}/a", 3_000_000),
        (f"{LOCATION}/b", 2),
        (f"{LOCATION}/sub/_SUCCESS", 0),
    ]
    assert counts == DumpCounts(files=3, data_bytes=3_000_002)


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(0, 9)), min_size=1), st.text())
def test_pages_and_files_come_through_lines_as_they_are(pages: list[tuple[str, str, int]], text: str) -> None:
    file = FileLine("db", "t", text, 1, 2, f"data/{text}", "ab")
    data = b"".join(to_bytes(PageLine(*page, missing=(text,)), [file])[0] for page in pages)
    assert list(lines_of(data)) == [it for page in pages for it in (PageLine(*page, missing=(text,)), file)]
    assert last_page(data) == PageLine(*pages[-1], missing=(text,))


def test_a_line_that_is_none_is_damage() -> None:
    for line in (b"{}", b'{"database": 1}', b"\xff", b'{"database": "a", "table": "b", "page": "x"}'):
        with pytest.raises(DumpDamaged, match="cannot read a line"):
            list(lines_of(line + b"\n"))


def test_nothing_that_is_damaged_gets_through(tmp_path: Path) -> None:
    place = files(tmp_path, a=b"123", b=b"456")
    found = stored(tmp_path, T, LOCATION)
    read: list[int] = []
    check(tmp_path, found, read.append)
    assert read == [3, 3]
    for content in (b"457", b"45", b"4567", b""):
        (place / "b").write_bytes(content)
        with pytest.raises(DumpDamaged, match=r"/b is damaged"):
            check(tmp_path, found, read.append)
    (place / "b").unlink()
    with pytest.raises(DumpDamaged, match=r"/b cannot be read: No such file"):
        check(tmp_path, found, read.append)


def test_a_line_that_leads_out_of_the_dump_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "dump" / DATA).mkdir(parents=True)
    line = FileLine("db", "t", "p", 1, 0, "data/../../secret", "ab")
    with pytest.raises(DumpDamaged, match="is outside of the dump"):
        check(tmp_path / "dump", [line], lambda _: None)


class Copier:
    """Copies by hand; `seen` is whether its disk is ours. It counts what it is asked."""

    def __init__(self, sources: dict[str, dict[str, bytes]], *, seen: bool = True) -> None:
        self.sources, self.seen = sources, seen
        self.copied: list[Pair] = []
        self.changes = 0

    def copy(self, pairs: Sequence[Pair], *, removed: object = None, elsewhere: object = None) -> Copied:  # noqa: ARG002
        self.copied += pairs
        for pair in pairs:
            if (found := self.sources.get(pair.source)) is not None and self.seen:
                place = Path(pair.target.removeprefix("file:"))
                place.mkdir(parents=True, exist_ok=True)
                for name, content in found.items():
                    (place / name).write_bytes(content)
        missing = tuple(it for it in pairs if it.source not in self.sources)
        return Copied(missing=missing)

    def survey(self, pairs: Sequence[Pair]) -> list[FileDifference]:
        self.changes -= 1
        changed = [FileStatus(pairs[0], "late", 1, 1)] if self.changes >= 0 else []
        return [
            FileDifference(
                it, exists=it.source in self.sources, same=len(self.sources.get(it.source, ())), copies=changed
            )
            for it in pairs
        ]


class Source:
    """A table without partitions, and its location."""

    def table(self, database: str, name: str):
        storage = type("Storage", (), {"location": LOCATION})
        return type(
            "Table", (), {"partitionKeys": [], "sd": storage, "dbName": database, "tableName": name, "parameters": {}}
        )


def dumped(
    copier: Copier, directory: Path, under: Sequence[str] = ("hdfs://nn/warehouse",)
) -> list[PageLine | FileLine]:
    parts = Into(copier, directory, under).parts(Source(), iter([T]), None, lambda _: None)  # type: ignore[arg-type]
    return [line for data, _ in parts for line in lines_of(data)]


def test_what_is_in_the_dump_already_is_not_copied_again(tmp_path: Path) -> None:
    copier = Copier({LOCATION: {"a": b"1", "b": b"2"}})
    first = dumped(copier, tmp_path)
    assert len(first) == 3
    copier.sources[LOCATION] = {}
    assert dumped(copier, tmp_path) == first
    assert len(copier.copied) == 1
    after = PageLine("db", "t", 0)
    assert list(Into(copier, tmp_path, [LOCATION]).parts(Source(), iter([T]), after, lambda _: None)) == []  # type: ignore[arg-type]


def test_a_source_that_changes_is_copied_again_until_it_rests(tmp_path: Path) -> None:
    copier = Copier({LOCATION: {"a": b"1"}})
    copier.changes = 2
    dumped(copier, tmp_path)
    assert [it.removes_extras for it in copier.copied] == [True] * 3, "what has gone meanwhile goes here, too"
    copier.changes = 100
    with pytest.raises(Unavailable, match="changes faster"):
        dumped(copier, tmp_path / "other")


def test_a_directory_that_is_not_at_the_source_is_noted(tmp_path: Path) -> None:
    (page,) = dumped(Copier({}), tmp_path)
    assert page == PageLine("db", "t", 0, (LOCATION,))
    assert to_bytes(page, [])[1] == DumpCounts(missing=1)


def test_a_directory_that_no_prefix_names_is_not_read_and_is_named(tmp_path: Path) -> None:
    copier = Copier({LOCATION: {"a": b"1"}})
    for under in ("hdfs://nn/ware", "hdfs://other/warehouse", "file:/warehouse"):
        (page,) = dumped(copier, tmp_path, [under])
        assert page == PageLine("db", "t", 0, not_taken=(LOCATION,))
        assert to_bytes(page, [])[1] == DumpCounts(not_taken=1)
    assert (copier.copied, list(tmp_path.iterdir())) == ([], [])


def test_executors_that_do_not_see_the_dump_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(PysyncError, match="Spark cannot see the directory of the dump"):
        dumped(Copier({LOCATION: {"a": b"1"}}, seen=False), tmp_path)
    files(tmp_path, a=b"1")
    out = OutOf(tmp_path, NN, Copier({}))  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="Spark cannot see the directory of the dump"):
        out.copy([Pair(LOCATION, "hdfs://other/t")])
    assert out.copy([Pair("hdfs://nn/gone", "hdfs://other/t")]).missing


def test_what_is_loaded_comes_from_the_dump(tmp_path: Path) -> None:
    copier = Copier({})
    wanted = [Pair(LOCATION, "hdfs://other/t"), Pair("hdfs://nn/u", "hdfs://other/u", removes_extras=True)]
    OutOf(tmp_path, NN, copier).copy(wanted)  # type: ignore[arg-type]
    moved = [f"file:{place_of(tmp_path, it.source)}" for it in wanted]
    assert copier.copied == [replace(it, source=place) for it, place in zip(wanted, moved, strict=True)]


def test_a_target_that_takes_no_files_gets_no_metadata_without_them(tmp_path: Path) -> None:
    dump = Dump(tmp_path, ASKED.model_copy(update={"files": "copy"}))
    config = Config(source=SourceConfig(name="onprem"), targets=(TargetSettings(name="dr", kind="hms"),))
    with pytest.raises(UsageError, match="target dr does not copy files"):
        load_once(config, dump, ["dr"], lambda _: None)


def test_a_configuration_to_load_with_needs_no_source_for_its_copies(tmp_path: Path) -> None:
    file = tmp_path / "there.toml"
    target = '[[targets]]\nname = "dr"\nkind = "hms"\nmetastore = "thrift://there:9083"\ncopy = true\n'
    file.write_text(f'[source]\nname = "onprem"\n{target}')
    assert load_config(file, live_source=False).targets[0].copy_files is not None
    with pytest.raises(UsageError, match=r"source\.metastore: missing"):
        load_config(file)


def test_a_manifest_of_data_files_keeps_its_counts() -> None:
    counts = DumpCounts(files=2, data_bytes=5, missing=1)
    assert DumpCounts.model_validate(counts.model_dump()) == counts
    assert counts.plus(counts) == DumpCounts(files=4, data_bytes=10, missing=2)
    assert Manifest.model_validate(ASKED.model_dump()) == ASKED


def test_what_was_not_taken_is_named_in_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = ASKED.model_copy(update={"files": "copy", "data_under": ("hdfs://other",)})
    with opened(tmp_path / "it", manifest) as pieces:
        parts = Into(Copier({}), tmp_path / "it", manifest.data_under).parts(Source(), iter([T]), None, print)  # type: ignore[arg-type]
        pieces.write(FILES, "jsonl", b"", parts)
        pieces.finish(pieces.manifest)
    assert list(not_taken(tmp_path / "it", pieces.manifest)) == [(T, LOCATION)]
    _print_dumped(tmp_path / "it", pieces.manifest)
    reported = capsys.readouterr().out
    assert "1 directory is not below hdfs://other; the data files there are not in the dump:" in reported
    assert f"  db.t: {LOCATION}" in reported.splitlines()


def test_a_dump_with_data_files_needs_to_know_where_they_may_be(tmp_path: Path) -> None:
    file = tmp_path / "here.toml"
    target = '[[targets]]\nname = "dr"\nkind = "hms"\nmetastore = "thrift://127.0.0.1:1"\n'
    file.write_text(f'[source]\nname = "onprem"\nmetastore = "thrift://127.0.0.1:1"\n{target}')
    done = pysync_here("dump", "-c", file, tmp_path / "dump", "--files", "copy")
    assert_one_line(done, 2, "which directories of the source have data files", "--data-under PREFIX", "locations")
    done = pysync_here("dump", "-c", file, tmp_path / "dump", "--data-under", "hdfs://nn")
    assert_one_line(done, 2, "--data-under needs --files copy")
    assert not (tmp_path / "dump").exists()


class Workers:
    """Workers that find a file of others and one that was copied before, in a directory of the target."""

    def __init__(self) -> None:
        self.steps: list[list[str]] = []

    def call(self, method: str, request: str) -> str:
        if method == "survey":
            found = [("foreign", 0, "id_rsa", 3), ("extra", 0, "copied_before", 7), ("pair", 0, "true", 1, 0)]
            return encode(found)
        self.steps += decode(request)
        return encode(("done",) for _ in decode(request))


def test_a_load_removes_only_what_was_copied_before(tmp_path: Path) -> None:
    workers = Workers()
    with closing(RealCopier(workers, CopySettings(settle_seconds=0))) as copier:
        done = OutOf(tmp_path, NN, copier).copy([Pair(LOCATION, "file:/there/t", removes_extras=True)])
    assert [step[1] for step in workers.steps if step[0] == "delete"] == ["file:/there/t/copied_before"]
    assert done.foreign == ("file:/there/t/id_rsa",)
