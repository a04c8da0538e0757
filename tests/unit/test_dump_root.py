"""The root of dumps: each has a directory of its own, and only old dumps of ours that nobody uses are removed."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pysync.base.errors import PysyncError
from pysync.dump import root as roots
from pysync.dump.data import place_of
from pysync.dump.index import open_dump
from pysync.dump.pieces import LOCK, MANIFEST, UNFINISHED, opened
from pysync.dump.root import Cleaned, clean, held, new_directory
from tests.support.dumped import ASKED, filled, write

DAY = 86400


def made(root: Path, *, age: float = 0.0, finished: bool = True) -> Path:
    """A dump in the root that ended so many seconds ago."""
    directory = new_directory(root, "sales")
    if finished:
        write(directory, filled(), began_at=time.time() - age)
    else:
        with opened(directory, ASKED):
            pass
    aged(directory, age)
    return directory


def aged(directory: Path, age: float) -> None:
    at = time.time() - age
    for path in (directory / MANIFEST, directory / UNFINISHED):
        if path.exists():
            os.utime(path, (at, at))
    os.utime(directory, (at, at))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@given(some.text(max_size=100))
def test_a_name_for_people_never_leads_elsewhere(name: str) -> None:
    directory = new_directory(Path("/root"), name)
    assert directory.parent == Path("/root")
    assert re.fullmatch(r"[a-z0-9_]{1,64}-\d{8}T\d{6}Z-[0-9a-f]{8}", directory.name)
    assert directory != new_directory(Path("/root"), name)


def test_a_root_that_is_not_there_is_clean(root: Path) -> None:
    assert clean(root, 0) == Cleaned()
    root.write_text("a file")
    with pytest.raises(PysyncError, match="cannot read the directory of dumps"):
        clean(root, 0)


@pytest.mark.parametrize("finished", [True, False])
def test_old_dumps_go_and_young_ones_stay(root: Path, finished: bool) -> None:
    old, young = made(root, age=8 * DAY, finished=finished), made(root, age=6 * DAY, finished=finished)
    for place in (place_of(old, "hdfs://nn/t"), place_of(old, "hdfs://nn/u").with_suffix(".part")):
        (place / "sub").mkdir(parents=True)
        (place / "sub" / "file").write_text("x")
    aged(old, 8 * DAY)
    assert clean(root, 7 * DAY) == Cleaned((old.name,))
    assert sorted(root.iterdir()) == [young]
    assert clean(root, 7 * DAY) == Cleaned(), "again, and nothing is left to do"


def test_what_is_no_dump_of_ours_stays(root: Path, tmp_path: Path) -> None:
    """By its name, its kind, its content, or its manifest."""
    outside = made(tmp_path / "outside", age=9 * DAY)
    other_name = root / "theirs"
    write(other_name, filled())
    aged(other_name, 9 * DAY)
    link = root / new_directory(root, "link").name
    link.symlink_to(outside)
    empty, file = new_directory(root, "empty"), new_directory(root, "file")
    empty.mkdir()
    file.write_text("a file")
    damaged, foreign, linked = (made(root, age=9 * DAY) for _ in range(3))
    (damaged / MANIFEST).write_text("{}")
    (foreign / "notes.txt").write_text("mine")
    (linked / "data").symlink_to(tmp_path)
    numbered, beside, above = (made(root, age=9 * DAY) for _ in range(3))
    (numbered / "notes-000001.txt").write_text("mine")
    (beside / "data" / "ab").mkdir(parents=True)
    (beside / "data" / "ab" / "notes").write_text("mine")
    (above / "data" / "mine" / "deep").mkdir(parents=True)
    (above / "data" / "mine" / "deep" / "notes").write_text("mine")
    for it in (damaged, foreign, linked, numbered, beside, above):
        aged(it, 9 * DAY)
    before = sorted(root.iterdir())
    found = clean(root, 7 * DAY)
    assert found.removed == ()
    reasons = dict(found.left)
    assert reasons.keys() == {it.name for it in (damaged, foreign, linked, numbered, beside, above)}
    assert "it holds notes-000001.txt" in reasons[numbered.name]
    assert "it holds data/ab/notes" in reasons[beside.name]
    assert "it holds data/mine/deep/notes" in reasons[above.name]
    assert "is damaged" in reasons[damaged.name]
    assert "it holds notes.txt" in reasons[foreign.name]
    assert "it holds data" in reasons[linked.name]
    assert sorted(root.iterdir()) == before
    open_dump(outside)


@pytest.mark.parametrize("to", ["kept", "kept/file", "none"])
def test_a_dump_with_links_among_its_data_files_stays(root: Path, tmp_path: Path, to: str) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    old = made(root, age=9 * DAY)
    place = place_of(old, "hdfs://nn/t")
    place.mkdir(parents=True)
    (place / "link").symlink_to(tmp_path / to)
    ((name, why),) = clean(root, 7 * DAY).left
    assert (name, why) == (old.name, f"it holds {(place / 'link').relative_to(old)}, which is not of a dump")
    assert (tmp_path / "kept" / "file").read_text() == "x"


@pytest.mark.parametrize("name", [MANIFEST, UNFINISHED])
def test_a_cleaning_does_not_wait_for_a_fifo(root: Path, name: str) -> None:
    old = made(root, age=9 * DAY, finished=False)
    (old / UNFINISHED).unlink()
    os.mkfifo(old / name)
    ((directory, reason),) = clean(root, 7 * DAY).left
    assert (directory, f"{name} is a FIFO" in reason) == (old.name, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory for somebody else")
def test_a_dump_of_somebody_else_stays(root: Path) -> None:
    old = made(root, age=9 * DAY)
    os.chown(old, 12345, 12345)
    assert clean(root, 7 * DAY) == Cleaned((), ((old.name, "it belongs to another user"),))
    assert (old / MANIFEST).exists()


def test_a_dump_that_is_written_or_loaded_stays(root: Path) -> None:
    loaded, written = made(root, age=9 * DAY), made(root, age=9 * DAY, finished=False)
    with held(loaded), held(loaded), opened(written, ASKED):
        assert dict(clean(root, 7 * DAY).left) == dict.fromkeys(
            (loaded.name, written.name), "it is being written or loaded"
        )
        open_dump(loaded)
    assert set(clean(root, 7 * DAY).removed) == {loaded.name, written.name}


def test_a_dump_that_is_being_removed_is_not_loaded(root: Path) -> None:
    old = made(root, age=9 * DAY)
    with (old / MANIFEST).open("rb+") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        with pytest.raises(PysyncError, match="is being removed, as it is too old"), held(old):
            pass
    with held(root / "none"):
        pass


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("calls", range(6))
def test_after_a_kill_the_next_cleaning_ends_it(root: Path, monkeypatch, calls: int, finished: bool) -> None:
    """What is left meanwhile is refused by a load, or is no dump, and never half of one that loads."""
    old = made(root, age=9 * DAY, finished=finished)
    left = [calls]

    def dying(call: Callable[..., None]) -> Callable[..., None]:
        def dies(*arguments: object, **options: object) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            call(*arguments, **options)

        return dies

    with monkeypatch.context() as patch:
        patch.setattr(roots.os, "unlink", dying(os.unlink))
        patch.setattr(roots.os, "rmdir", dying(os.rmdir))
        try:
            clean(root, 7 * DAY)
            ended = True
        except KeyboardInterrupt:
            ended = False
    if not ended and left[0] < 0 and calls:
        with pytest.raises(PysyncError):
            open_dump(old)
    if old.exists():
        aged(old, 9 * DAY)  # removing files has made the directory young
        assert clean(root, 7 * DAY).removed == (old.name,)
    assert list(root.iterdir()) == []


def test_two_cleanings_at_once_remove_a_dump_once(root: Path, monkeypatch) -> None:
    old = made(root, age=9 * DAY)
    found: list[Cleaned] = []
    unlink = os.unlink

    def meanwhile(*arguments: object, **options: object) -> None:
        if not found:
            found.append(Cleaned())
            found[0] = clean(root, 7 * DAY)
        unlink(*arguments, **options)

    monkeypatch.setattr(roots.os, "unlink", meanwhile)
    assert clean(root, 7 * DAY).removed == (old.name,)
    assert found == [Cleaned((), ((old.name, "it is being written or loaded"),))]


def test_a_lock_file_is_no_reason_to_stay(root: Path) -> None:
    old = made(root, age=9 * DAY)
    (old / LOCK).write_bytes(b"")
    (old / f"{MANIFEST}.part").write_bytes(b"x")
    aged(old, 9 * DAY)
    assert clean(root, 7 * DAY).removed == (old.name,)
