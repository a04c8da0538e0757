"""What pysync did not copy stays: files of others at the target, and the permissions that the source has set."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from pysync.copy.copier import Copier
from pysync.copy.copy_round import RECORD
from pysync.copy.workers import SparkWorkers
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings
from tests.integration.test_copy import Place, lake, place, spark

pytestmark = pytest.mark.spark

__all__ = ["lake", "place", "spark"]


def write_there(place: Place, name: str, content: bytes = b"theirs") -> None:
    path = place.there / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_files_that_pysync_did_not_copy_stay_and_are_reported(place: Place) -> None:
    place.write("part-0", b"ours")
    write_there(place, "theirs/part-0")
    write_there(place, "thesis")
    done = place.copy()
    assert place.files_below() == {"part-0": b"ours", "theirs/part-0": b"theirs", "thesis": b"theirs"}
    assert done.removed == 0
    assert sorted(done.foreign) == [f"file:{place.there}/theirs/part-0", f"file:{place.there}/thesis"]
    (place.here / "part-0").unlink()
    place.write("part-1", b"ours")
    done = place.copy()
    assert place.files_below() == {"part-1": b"ours", "theirs/part-0": b"theirs", "thesis": b"theirs"}
    assert (done.removed, done.first_removed) == (1, f"file:{place.there}/part-0")


def test_a_file_of_others_is_not_replaced(place: Place) -> None:
    place.write("part-0", b"ours")
    write_there(place, "part-0", b"another content")
    with pytest.raises(Rejected, match=r"there/part-0 .*not copied by pysync"):
        place.copy()
    assert place.files_below() == {"part-0": b"another content"}
    (place.there / "part-0").unlink()
    assert place.copy().files == 1


def test_a_file_that_is_the_same_already_counts_as_copied(place: Place) -> None:
    """Who brings the first files by other means must not have the rows of overwritten files twice from then on."""
    for name in ("goes", "day=1/goes", "stays"):
        place.write(name, b"1234")
    shutil.copytree(place.here, place.there)
    assert place.copy().same == 3
    (place.here / "goes").unlink()
    (place.here / "day=1" / "goes").unlink()
    assert place.copy().removed == 2
    assert place.files_below() == {"stays": b"1234"}


def test_a_name_is_forgotten_once_its_file_is_removed(place: Place) -> None:
    place.write("a", b"1")
    place.write("b", b"2")
    place.copy()
    (place.here / "a").unlink()
    assert place.copy().removed == 1
    write_there(place, "a")
    assert place.copy().foreign == (f"file:{place.there}/a",)
    assert place.files_below() == {"a": b"theirs", "b": b"2"}


@pytest.mark.parametrize("record", [b"", b"%zz\n%", None], ids=["empty", "damaged", "lost"])
def test_without_the_record_nothing_is_removed_until_files_are_found_the_same(
    place: Place, record: bytes | None
) -> None:
    place.write("a", b"1")
    place.write("b", b"2")
    place.copy()
    (place.there / RECORD).unlink()
    if record is not None:
        (place.there / RECORD).write_bytes(record)
    (place.here / "a").unlink()
    assert place.copy().removed == 0
    assert place.files_below() == {"a": b"1", "b": b"2"}
    (place.here / "b").unlink()
    assert place.copy().removed == 1, "it was found to be the same, so it was recorded again"


@pytest.mark.parametrize("after", range(6))
def test_a_kill_between_any_two_steps_costs_no_file_of_others(
    spark: SparkWorkers, place: Place, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copier ends after so many steps of publishing; the next one goes on."""
    for name in ("goes", "stays"):
        place.write(name, b"1")
    place.copy()
    write_there(place, "thesis")
    (place.here / "goes").unlink()
    place.write("comes", b"2")
    call, left = place.copier._workers.call, after

    def one_by_one(method: str, request: str) -> str:
        nonlocal left
        if method != "publish":
            return call(method, request)
        answers = []
        for line in request.splitlines():
            if not left:
                raise Unavailable("killed")
            left -= 1
            answers.append(call(method, line + "\n"))
        return "".join(answers)

    monkeypatch.setattr(place.copier._workers, "call", one_by_one)
    try:
        place.copy()
    except Unavailable:
        assert place.files_below()["thesis"] == b"theirs"
    monkeypatch.undo()
    # Another process spares no unfinished files of the one that died.
    place.copier.close()
    place.copier = Copier(spark, CopySettings(settle_seconds=0))
    place.copy()
    assert place.files_below() == {"stays": b"1", "comes": b"2", "thesis": b"theirs"}
    write_there(place, "goes")
    place.copy()
    assert place.files_below()["goes"] == b"theirs"


def test_the_record_is_not_copied_on(place: Place) -> None:
    place.write("a", b"1")
    place.write(RECORD, b"theirs\n")
    write_there(place, "theirs")
    place.copy()
    assert place.files_below() == {"a": b"1", "theirs": b"theirs"}
    assert (place.there / RECORD).read_bytes() == b"a\n"


def test_permissions_are_those_of_the_source_and_never_wider(place: Place) -> None:
    modes = {"secret/key": 0o600, "secret/deep/read": 0o440, "open": 0o664}
    for name, mode in modes.items():
        place.write(name, b"1")
        (place.here / name).chmod(mode)
    for name, mode in (("secret/deep", 0o750), ("secret", 0o700), ("", 0o770)):
        (place.here / name).chmod(mode)
    place.copy()
    found = {name: stat.S_IMODE((place.there / name).stat().st_mode) for name in (*modes, "secret/deep", "secret", "")}
    assert found == {**modes, "secret/deep": 0o750, "secret": 0o700, "": 0o770}


def test_a_directory_without_files_has_the_permissions_of_the_source(place: Place) -> None:
    place.here.chmod(0o700)
    place.copy()
    assert stat.S_IMODE(place.there.stat().st_mode) == 0o700


def test_what_is_no_file_is_refused_without_a_look_into_it(place: Place) -> None:
    os.mkfifo(place.here / "fifo")
    with pytest.raises(Rejected, match="fifo is not a regular file"):
        place.copy()


def test_a_look_changes_nothing_at_the_target(spark: SparkWorkers, tmp_path: Path) -> None:
    place = Place(spark, tmp_path)
    place.copier.survey([place.pair])
    assert not place.there.exists()
    write_there(place, ".pysync-copy-of-another-run")
    place.copier.survey([place.pair])
    assert place.files_below() == {".pysync-copy-of-another-run": b"theirs"}
    place.copier.close()
