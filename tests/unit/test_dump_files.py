"""The files of a dump: only regular ones that it lists are read, and none is written through a link."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.dump.data import DATA, PageLine, place_of, stored, to_bytes
from pysync.dump.index import FILES, KIND, SUFFIX, open_dump
from pysync.dump.pieces import LOCK, MANIFEST, UNFINISHED, opened
from pysync.dump.record import HEAD
from pysync.dump.root import held
from pysync.dump.write import DumpSelection, Writing
from pysync.model.names import TableName
from pysync.resync.wanted import EVERYTHING
from tests.support.dumped import ASKED, filled, write

LOCATION = "hdfs://nn/plain"


def with_files(directory: Path) -> Path:
    """A finished dump with one data file; returns its place."""
    with opened(directory, ASKED.model_copy(update={"files": "copy"})) as pieces:
        pieces.write(KIND, SUFFIX, HEAD, Writing(filled(), DumpSelection(EVERYTHING)).parts(lambda *_: None))
        place = place_of(directory, LOCATION)
        place.mkdir(parents=True)
        (place / "a").write_bytes(b"123")
        name = TableName("db", "plain")
        pieces.write(FILES, "jsonl", b"", [to_bytes(PageLine("db", "plain", 0), stored(directory, name, LOCATION))])
        pieces.finish(pieces.manifest.model_copy(update={"finished_at": 101.0}))
    open_dump(directory)
    return place


def socket_at(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(str(path))


ODD: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a socket": socket_at,
    "a symbolic link": lambda path: path.symlink_to("/dev/null"),
    "a directory": Path.mkdir,
}


@pytest.mark.parametrize("kind", ODD)
def test_a_file_of_a_dump_that_is_no_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind) -> None:
    """Before: a FIFO was waited for without end, and a link was followed."""
    place = with_files(tmp_path / "it")
    for path in (*(tmp_path / "it").glob("*-*"), place / "a", tmp_path / "it" / MANIFEST):
        monkeypatch.chdir(path.parent)  # a socket's path must be short
        path.rename(tmp_path / "aside")
        ODD[kind](Path(path.name))
        with (
            pytest.raises(PysyncError, match=f"{path.name} is {kind}|{path.name} cannot be read"),
            held(tmp_path / "it"),
        ):
            open_dump(tmp_path / "it")
        path.rmdir() if kind == "a directory" else path.unlink()
        (tmp_path / "aside").rename(path)
    open_dump(tmp_path / "it")


@pytest.mark.parametrize("kind", [it for it in ODD if it != "a directory"])
@pytest.mark.parametrize("at", ["extra", f"{DATA}/extra", f"{DATA}/ab/cd", "{place}/extra"])
def test_what_a_dump_does_not_list_may_not_be_in_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, at: str
) -> None:
    place = with_files(tmp_path / "it")
    path = Path(at.format(place=place)) if "{place}" in at else tmp_path / "it" / at
    path.parent.mkdir(exist_ok=True)
    monkeypatch.chdir(path.parent)
    for make, words in ((Path.touch, "is not part of the dump"), (ODD[kind], f"is {kind}")):
        make(Path(path.name))
        with pytest.raises(PysyncError, match=words) as refused:
            open_dump(tmp_path / "it")
        assert path.name in str(refused.value) or path.parent.name in str(refused.value)
        path.unlink()
    open_dump(tmp_path / "it")


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_directory_of_data_files_is_no_link(tmp_path: Path, level: int) -> None:
    place = with_files(tmp_path / "it")
    path = [tmp_path / "it" / DATA, place.parent, place][level]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PysyncError, match="is a symbolic link"):
        open_dump(tmp_path / "it")


def test_a_dump_with_only_metadata_has_no_data_files(tmp_path: Path) -> None:
    write(tmp_path / "it", filled())
    place_of(tmp_path / "it", LOCATION).mkdir(parents=True)
    open_dump(tmp_path / "it")
    (place_of(tmp_path / "it", LOCATION) / "a").touch()
    with pytest.raises(PysyncError, match="is not part of the dump"):
        open_dump(tmp_path / "it")


# --- writing


@pytest.mark.parametrize(
    "name",
    [LOCK, f"{UNFINISHED}.part", f"{MANIFEST}.part", "metadata-000001.records.part", DATA, UNFINISHED],
)
def test_a_dump_is_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    """Before: what the link leads to was overwritten, or emptied."""
    theirs = tmp_path / "theirs"
    theirs.write_text("of somebody else")
    directory = tmp_path / "it"
    directory.mkdir(mode=0o700)
    (directory / name).symlink_to(theirs)
    with pytest.raises(UsageError, match="holds files that are not a dump"):
        write(directory, filled())
    assert theirs.read_text() == "of somebody else"
    assert [it.name for it in directory.iterdir()] == [name]


def test_all_of_a_dump_is_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "it"
    directory.mkdir()
    directory.chmod(0o777)
    modes: set[int] = set()
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda one, other: (modes.add(one.stat().st_mode), replace(one, other))[1])
    write(directory, filled())
    assert {stat.S_IMODE(it) for it in modes} == {0o600}
    assert {stat.S_IMODE(it.stat().st_mode) for it in directory.iterdir()} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_dump_goes_into_a_directory_of_one_s_own_and_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(UsageError, match="is not a directory, or it is a symbolic link"):
            write(tmp_path / name, filled())
    assert list((tmp_path / "real").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory for somebody else")
def test_a_dump_goes_into_no_directory_of_somebody_else(tmp_path: Path) -> None:
    directory = tmp_path / "it"
    directory.mkdir(mode=0o700)
    os.chown(directory, 12345, 12345)
    with pytest.raises(UsageError, match="belongs to another user"):
        write(directory, filled())
    open_parent = tmp_path / "open"
    open_parent.mkdir()
    open_parent.chmod(0o777)
    with pytest.raises(UsageError, match="root does not use"):
        write(open_parent / "it", filled())
    assert (list(directory.iterdir()), list(open_parent.iterdir())) == ([], [])
