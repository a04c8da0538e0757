"""pysync.toml is replaced as a whole, by one command at a time, and only from the text that was read."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.config_file import file as module
from pysync.config_file.file import digest_of, drafted, locked
from pysync.config_file.targets import altered, setting_of
from pysync.queue import EventQueue

TEXT = '# mine\r\n[source]\r\nname = "onprem"\r\n[[targets]]\r\nname = "dr"\r\nkind = "faulty"'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pysync.toml"
    path.write_bytes(TEXT.encode())
    path.chmod(0o640)
    return path


def lanes(number: int) -> module.Change:
    return altered("dr", [setting_of(f"lanes={number}")])


def test_the_file_has_the_new_text_with_its_mode_and_its_line_ends(file: Path) -> None:
    draft = drafted(file, lanes(2))
    assert file.read_bytes() == TEXT.encode(), "a draft changes nothing"
    draft.put()
    assert file.read_bytes() == f"{TEXT}\r\nlanes = 2".encode()
    assert (file.stat().st_mode & 0o777, draft.digest) == (0o640, digest_of(file))
    draft.restore()
    assert file.read_bytes() == TEXT.encode()
    assert list(file.parent.iterdir()) == [file]


def test_a_result_with_problems_is_refused_by_line_and_column(file: Path) -> None:
    with pytest.raises(UsageError, match=r"pysync\.toml:7:1: targets\[0\]\.lanes: 0 is too small"):
        drafted(file, lanes(0))


def test_a_change_may_mend_what_is_wrong(file: Path) -> None:
    file.write_text(TEXT + "\r\nlanes = 0\r\n", newline="")
    drafted(file, lanes(2)).put()
    assert "lanes = 2" in file.read_text()


def test_what_is_no_toml_is_refused_by_its_place(file: Path) -> None:
    file.write_text(TEXT + "\n= 3\n")
    with pytest.raises(UsageError, match=r"pysync\.toml:7:1 is not TOML"):
        drafted(file, lanes(2))


def test_an_edit_of_a_person_in_between_is_kept(file: Path) -> None:
    draft = drafted(file, lanes(2))
    file.write_text(TEXT + "\n# a person\n")
    with pytest.raises(PysyncError, match="changed by somebody else"):
        draft.put()
    assert "# a person" in file.read_text()
    assert list(file.parent.iterdir()) == [file], "the draft is gone"


def test_links_are_followed_and_stay(file: Path) -> None:
    real = file.with_name("real.toml")
    file.rename(real)
    second = file.with_name("second.toml")
    second.symlink_to(real.name)
    file.symlink_to(second.name)
    drafted(file, lanes(2)).put()
    assert file.is_symlink()
    assert second.is_symlink()
    assert "lanes = 2" in real.read_text()


def test_a_file_that_may_not_be_written_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = drafted(file, lanes(2))
    allowed = os.access
    monkeypatch.setattr("os.access", lambda path, mode, **how: Path(path) != file and allowed(path, mode, **how))
    with pytest.raises(UsageError, match="may not be written"):
        draft.put()
    assert file.read_bytes() == TEXT.encode()


def test_a_file_that_is_mounted_cannot_be_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = drafted(file, lanes(2))

    def busy(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    with pytest.raises(PysyncError, match="change it where it is mounted from"):
        draft.put()
    assert list(file.parent.iterdir()) == [file]


def test_one_command_at_a_time_changes_the_file(file: Path) -> None:
    """Each adds one to a number that it reads first."""

    def add() -> None:
        with locked(file) as lock:
            found = int(file.read_text().rpartition("= ")[2] or 0) if "lanes" in file.read_text() else 0
            time.sleep(0.01)
            drafted(file, lanes(found + 1), lock).put()

    threads = [threading.Thread(target=add) for _ in range(8)]
    for it in threads:
        it.start()
    for it in threads:
        it.join()
    assert file.read_text().endswith("lanes = 8")


def test_who_waits_too_long_for_another_command_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.2)
    with locked(file), pytest.raises(PysyncError, match="another command is changing"), locked(file):
        pass
    with locked(file):
        pass


def test_who_has_put_another_file_there_keeps_it_until_the_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the file is replaced the command waits for the sidecar: others wait for both."""
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.2)
    with locked(file) as lock:
        draft = drafted(file, lanes(2), lock)
        for change in (draft.put, draft.restore):
            change()
            with pytest.raises(PysyncError, match="another command is changing"), locked(file):
                pass
    with locked(file):
        pass


def test_a_queue_in_the_same_directory_is_no_other_command(file: Path) -> None:
    with EventQueue(file.parent, min_free_bytes=0), locked(file) as lock:
        drafted(file, lanes(2), lock).put()
    assert "lanes = 2" in file.read_text()
