"""Symbolic links: a copy neither follows nor removes them, wherever and whenever they come; it tells of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.copy.copy_round import RECORD
from pysync.jobs.dump_listing import Lister
from pysync.model.file_differences import Pair
from pysync.model.names import TableName
from pysync.targets.base import Rejected
from pysync.verify.files import compared_files
from pysync.verify.findings import DIFFERENT
from tests.integration.test_copy import Place, lake, place, spark

pytestmark = pytest.mark.spark

__all__ = ["lake", "place", "spark"]


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A directory that is nobody's business, as it must be afterwards."""
    directory = tmp_path / "victim"
    (directory / "deep").mkdir(parents=True)
    (directory / "f").write_bytes(b"precious")
    (directory / "deep" / "g").write_bytes(b"precious")
    yield directory
    found = {str(it.relative_to(directory)): it.read_bytes() for it in directory.rglob("*") if it.is_file()}
    assert found == {"f": b"precious", "deep/g": b"precious"}


def test_a_link_at_the_target_is_neither_followed_nor_removed(place: Place, victim: Path) -> None:
    place.write("a", b"1")
    place.there.mkdir()
    (place.there / "old").write_bytes(b"old")
    (place.there / RECORD).write_bytes(b"old\n")
    (place.there / "sub").symlink_to(victim)
    (place.there / "file").symlink_to(victim / "f")
    done = place.copy()
    assert (done.files, done.removed) == (1, 1)
    assert sorted(done.links) == [f"file:{place.there}/file", f"file:{place.there}/sub"]
    assert (place.there / "sub").readlink() == victim
    assert (place.there / "file").readlink() == victim / "f"


def test_what_a_link_at_the_source_leads_to_is_not_copied(place: Place, victim: Path) -> None:
    place.write("day=1/a", b"1")
    (place.here / "day=2").symlink_to(victim)
    (place.here / "day=1" / "secret").symlink_to(victim / "f")
    done = place.copy()
    assert place.files_below() == {"day=1/a": b"1"}
    assert sorted(done.links) == [f"file:{place.here}/day=1/secret", f"file:{place.here}/day=2"]
    assert not (place.there / "day=2").exists()


@pytest.mark.parametrize("name", ["sub/f", "sub", "sub/deep/g", "sub/new"])
def test_nothing_is_written_where_a_link_is_or_behind_it(place: Place, victim: Path, name: str) -> None:
    place.write(name, b"mine")
    place.there.mkdir()
    (place.there / "sub").symlink_to(victim)
    with pytest.raises(Rejected, match="there/sub is a symbolic link"):
        place.copy()
    assert (place.there / "sub").readlink() == victim


def test_a_link_that_comes_between_the_survey_and_the_copy_is_not_written_through(
    place: Place, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("sub/f", b"mine")
    (place.there / "sub").mkdir(parents=True)
    copy_some = place.copier._copy_some

    def swap_first(*arguments):
        if not (place.there / "sub").is_symlink():
            (place.there / "sub").rmdir()
            (place.there / "sub").symlink_to(victim)
        return copy_some(*arguments)

    monkeypatch.setattr(place.copier, "_copy_some", swap_first)
    with pytest.raises(Rejected, match="symbolic link"):
        place.copy()


def test_a_source_that_becomes_a_link_after_the_survey_is_not_read(
    place: Place, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("sub/f", b"xxxxxxxx")
    place.there.mkdir()
    copy_some = place.copier._copy_some

    def swap_first(*arguments):
        if not (place.here / "sub").is_symlink():
            (place.here / "sub").rename(place.here.parent / "away")
            (place.here / "sub").symlink_to(victim)
        return copy_some(*arguments)

    monkeypatch.setattr(place.copier, "_copy_some", swap_first)
    with pytest.raises(Rejected, match="symbolic link"):
        place.copy()
    assert place.files_below() == {}


def test_a_link_that_comes_before_files_are_removed_is_not_followed(
    place: Place, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("a", b"1")
    (place.there / "sub").mkdir(parents=True)
    (place.there / "sub" / "f").write_bytes(b"extra")
    (place.there / "sub" / RECORD).write_bytes(b"f\n")
    publish = place.copier._publish

    def swap_first(*arguments):
        (place.there / "sub").rename(place.there.parent / "away")
        (place.there / "sub").symlink_to(victim)
        return publish(*arguments)

    monkeypatch.setattr(place.copier, "_publish", swap_first)
    with pytest.raises(Rejected, match="symbolic link"):
        place.copy()


def test_what_killed_copies_have_left_may_be_a_link_too(place: Place, victim: Path) -> None:
    place.write("a", b"1")
    place.there.mkdir()
    (place.there / ".pysync-copy-old").symlink_to(victim)
    (place.there / ".pysync-copy-dir").mkdir()
    (place.there / ".pysync-copy-dir" / "sub").symlink_to(victim)
    place.copy()
    assert sorted(it.name for it in place.there.iterdir()) == [RECORD, ".pysync-copy-old", "a"]


def test_a_view_of_a_local_disk_is_no_way_round(lake: Path, place: Place, victim: Path) -> None:
    behind = lake / "behind" / "linked"
    behind.mkdir(parents=True)
    (behind / "sub").symlink_to(victim)
    view = "viewfs://all/mounted/linked"
    place.write("a", b"1")
    done = place.copier.copy([Pair(place.pair.source, view, removes_extras=True)])
    assert (done.files, done.removed, done.links) == (1, 0, (f"{view}/sub",))
    assert place.copier.copy([Pair(view, place.pair.target)]).files == 1
    assert place.files_below() == {"a": b"1"}


def test_a_location_that_is_a_link_itself_is_where_the_metastore_says(place: Place, tmp_path: Path) -> None:
    """An administrator has put it there; only what is below a table's directory may be anybody's."""
    place.write("a", b"1")
    (tmp_path / "disk").mkdir()
    place.there.symlink_to(tmp_path / "disk")
    assert place.copy().files == 1
    assert place.files_below(tmp_path / "disk") == {"a": b"1"}


def test_verify_and_the_list_of_a_dump_tell_of_links_and_do_not_follow_them(place: Place, victim: Path) -> None:
    place.write("a", b"1")
    (place.here / "sub").symlink_to(victim)
    place.copy()
    (found,) = compared_files([(TableName("db", "t"), place.copier.survey([place.pair]))], {})
    assert (found.result, found.excuse) == (DIFFERENT, "symbolic links are not followed")
    assert found.fields == (f"file:{place.here}/sub is a symbolic link and was skipped",)
    empty = place.here.parent / "empty"
    empty.mkdir()
    lines = Lister(place.copier, empty.as_uri()).lines(TableName("db", "t"), [place.pair.source])
    assert [json.loads(line)["path"] for line, _ in lines] == [f"{place.pair.source}/a"]
