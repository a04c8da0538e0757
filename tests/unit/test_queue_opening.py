"""What must hold before a queue file is used, and the one line that is said where it does not."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pysync.queue import EventQueue, QueueDamaged, QueueFailed, QueueFull, database, lives, queue_file
from pysync.queue.database import VERSION
from pysync.queue.directory import lock_directory, prepare
from pysync.queue.errors import translated
from tests.support.tmpfs import mount, unmount


def opened(directory, **options):
    return EventQueue(directory, **{"min_free_bytes": 0, "lock_timeout": 0.1, **options})


def fill(directory, events=200, size=2000):
    with opened(directory) as queue:
        for number in range(1, events + 1):
            queue.intake.append("jvm", number, "onprem", os.urandom(size))


def refused(directory, error=QueueFailed, **options):
    with pytest.raises(error) as caught:
        opened(directory, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert str(directory) in caught.value.message
    return caught.value


def edit(directory, statement):
    connection = sqlite3.connect(directory / "queue.db", isolation_level=None)
    connection.execute(statement)
    connection.close()


def test_files_are_ours_alone(tmp_path):
    old = os.umask(0)
    try:
        with opened(tmp_path / "new") as queue:
            queue.intake.append("jvm", 1, "onprem", b"x")
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "new").iterdir()}
    finally:
        os.umask(old)
    assert modes == {"queue.db": 0o600, "queue.db-wal": 0o600, "epoch": 0o600, "answered": 0o600}  # and no -shm
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_file_that_others_may_read_is_closed_to_them(tmp_path):
    fill(tmp_path, 1)
    (tmp_path / "queue.db").chmod(0o644)
    opened(tmp_path).close()
    assert stat.S_IMODE((tmp_path / "queue.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("locking_mode", "exclusive")]
)
def test_durability_is_set_at_every_open(tmp_path, pragma, value):
    for _ in range(2):
        with opened(tmp_path) as queue:
            assert queue._file._conn.execute(f"PRAGMA {pragma}").fetchone()[0] == value


def test_a_setting_that_does_not_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_SETTINGS", (("synchronous", "NORMAL", 2),))
    assert "synchronous = 1" in refused(tmp_path).message


def test_a_second_process_is_refused(tmp_path):
    code = "import sys, pysync.queue as q; q.EventQueue(sys.argv[1], lock_timeout=0.1)"
    with opened(tmp_path):
        second = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
        assert "in use by another process" in refused(tmp_path).message
    assert second.returncode == 1
    assert (
        second.stderr.strip()
        .splitlines()[-1]
        .startswith(
            f"pysync.queue.errors.QueueFailed: {tmp_path}/queue.db is in use by another process; another pysync"
        )
    )
    assert "ignored" not in second.stderr
    opened(tmp_path).close()


def test_a_foreign_reader_of_the_file_is_refused_too(tmp_path):
    fill(tmp_path, 1)
    other = sqlite3.connect(tmp_path / "queue.db")
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("SELECT count(*) FROM queue_events").fetchall()
    assert "in use by another process" in refused(tmp_path, quarantine=True).message
    other.close()
    opened(tmp_path).close()


def test_a_queue_that_another_is_just_making_is_left_to_it(tmp_path):
    owner = lock_directory(tmp_path, tmp_path / "queue.db", 0)
    assert "in use by another process" in refused(tmp_path, quarantine=True).message
    assert list(tmp_path.iterdir()) == []
    os.close(owner)
    opened(tmp_path).close()


def test_a_process_that_is_stopping_is_waited_for(tmp_path):
    code = "import sys, time, pysync.queue as q; q.EventQueue(sys.argv[1]); print(flush=True); time.sleep(0.3)"
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE) as first:
        first.stdout.readline()
        opened(tmp_path, lock_timeout=10).close()


@pytest.mark.parametrize("version", [0, VERSION - 1, 99])
def test_an_unknown_version_is_refused_and_kept(tmp_path, version):
    fill(tmp_path, 3)
    edit(tmp_path, f"PRAGMA user_version = {version}")
    assert f"queue format {version}" in refused(tmp_path, quarantine=True).message
    edit(tmp_path, f"PRAGMA user_version = {VERSION}")
    with opened(tmp_path) as queue:
        assert queue.size == 3


def test_the_database_of_another_program_is_refused_and_kept(tmp_path):
    edit(tmp_path, "CREATE TABLE precious (x)")
    assert "not a pysync queue" in refused(tmp_path, quarantine=True).message
    assert [p.name for p in tmp_path.iterdir()] == ["queue.db"]


def zero_bytes(file):
    os.truncate(file, 0)


def half(file):
    os.truncate(file, file.stat().st_size // 2 // 4096 * 4096)


def text(file):
    file.write_text("this is no database\n" * 1000)


def header(file):
    file.write_bytes(bytes(100) + file.read_bytes()[100:])


def middle_pages(file):
    data = file.read_bytes()
    middle = len(data) // 2 // 4096 * 4096
    file.write_bytes(data[:middle] + os.urandom(8 * 4096) + data[middle + 8 * 4096 :])


def only_the_log(file):
    file.rename(f"{file}-wal")


def no_targets(file):
    edit(file.parent, "DROP TABLE targets")


def no_epoch(file):
    edit(file.parent, "DELETE FROM meta")


DAMAGES = [zero_bytes, half, text, header, middle_pages, only_the_log, no_targets, no_epoch]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_refused_and_nothing_is_touched(tmp_path, damage):
    fill(tmp_path)
    damage(tmp_path / "queue.db")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    error = refused(tmp_path, QueueDamaged)
    assert "damaged" in error.message
    assert "quarantine" in error.hint
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("table", ["meta", "targets", "instances", "parked", "unreadable", "gaps"])
def test_a_file_without_one_of_its_tables_is_damaged(tmp_path, table):
    fill(tmp_path, 1)
    edit(tmp_path, f"DROP TABLE {table}")
    assert f"no table {table}" in refused(tmp_path, QueueDamaged).message


@pytest.mark.parametrize("damage", DAMAGES)
def test_quarantine_sets_the_damaged_file_aside(tmp_path, damage):
    fill(tmp_path)
    with opened(tmp_path) as queue:
        old = queue.epoch
    damage(tmp_path / "queue.db")
    before = sorted(p.read_bytes() for p in tmp_path.glob("queue.db*"))
    with opened(tmp_path, quarantine=True) as queue:
        assert queue.intake.append("jvm", 1, "onprem", b"anew")
        assert queue.epoch > old
        aside = [p for p in tmp_path.iterdir() if p.name.startswith("queue.db.damaged-")]
    assert sorted(p.read_bytes() for p in aside) == before
    assert all(re.fullmatch(r"queue\.db\.damaged-\d{8}T\d{6}\.\d{6}Z(-wal)?", p.name) for p in aside)


def test_a_new_file_comes_after_those_before_it_though_the_clock_was_set_back(tmp_path):
    """What is at the targets says of which epoch it is: what comes must be newer."""
    with EventQueue(tmp_path, min_free_bytes=0, clock=lambda: 2_000_000.0) as queue:
        old = queue.epoch
    for file in tmp_path.glob("queue.db*"):
        file.unlink()
    with EventQueue(tmp_path, min_free_bytes=0, clock=lambda: 1_000_000.0) as queue:
        assert queue.epoch > old


def test_an_epoch_is_on_disk_before_it_is_used(tmp_path, monkeypatch):
    """After a power cut the note must not be empty, nor half written."""
    synced, sync = [], os.fsync

    def fsync(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append(path.read_text() if path.is_file() else sorted(it.name for it in path.iterdir()))
        sync(descriptor)

    note = tmp_path / "epoch"
    note.write_text("6")
    monkeypatch.setattr(lives.os, "fsync", fsync)
    assert lives.begin_epoch(note, 1) == 7
    assert synced == ["7", ["epoch"]], "first its content, then its name"
    assert note.read_text() == "7"


def test_a_directory_that_is_made_is_on_disk_with_every_one_above_it(tmp_path, monkeypatch):
    """Else a power cut takes the new directory, and all events in it."""
    synced = []
    monkeypatch.setattr("pysync.queue.directory.sync", synced.append)
    prepare(tmp_path / "a" / "b")
    assert sorted(synced) == [tmp_path, tmp_path / "a"]


def test_no_memory_is_shared_not_even_to_look_at_the_file(tmp_path):
    """Its mapping would end the process on a full disk."""
    fill(tmp_path, 1)
    (tmp_path / "queue.db-shm").mkdir()  # what maps it fails
    with opened(tmp_path) as queue:
        assert queue.size == 1


def test_quarantine_leaves_a_sound_file_alone(tmp_path):
    fill(tmp_path, 3)
    with opened(tmp_path, quarantine=True) as queue:
        assert queue.size == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answered", "epoch", "queue.db"]


def test_a_creation_that_was_cut_short_is_begun_again(tmp_path):
    (tmp_path / "queue.db.new").write_bytes(b"half a ")
    (tmp_path / "queue.db.new-journal").write_bytes(b"journal")
    opened(tmp_path).close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answered", "epoch", "queue.db"]


@pytest.mark.parametrize(
    ("words", "error", "reported"),
    [
        (sqlite3.OperationalError("database or disk is full"), QueueFull, "no space left"),
        (OSError(28, "No space left on device"), QueueFull, "no space left"),
        (OSError(122, "Disk quota exceeded"), QueueFull, "no space left"),
        (sqlite3.DatabaseError("database disk image is malformed"), QueueDamaged, "is damaged"),
        (sqlite3.DatabaseError("file is not a database"), QueueDamaged, "is damaged"),
        (sqlite3.OperationalError("database is locked"), QueueFailed, "in use by another process"),
        (sqlite3.OperationalError("disk I/O error"), QueueFailed, "fails: disk I/O error"),
        (PermissionError(13, "Permission denied"), QueueFailed, "cannot write"),
        (OSError(30, "Read-only file system"), QueueFailed, "is mounted read-only"),
        (OSError(24, "Too many open files"), QueueFailed, "Too many open files"),
        (OSError(5, "Input/output error"), QueueFailed, "fails: Input/output error"),
    ],
)
def test_what_disk_and_database_say_is_told_as_what_to_do(tmp_path, words, error, reported):
    fill(tmp_path, 1)
    with pytest.raises(error) as caught, translated(tmp_path / "queue.db"):
        raise words
    assert type(caught.value) is error
    assert reported in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "words", ["database disk image is malformed", "unable to open database file", "disk I/O error"]
)
@pytest.mark.parametrize(
    ("number", "reported"),
    [(5, "fails: Input/output error"), (13, "Permission denied"), (30, "mounted read-only"), (24, "Too many open")],
)
def test_what_sqlite_does_not_tell_the_system_is_asked(tmp_path, monkeypatch, words, number, reported):
    fill(tmp_path, 1)

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(QueueFailed) as caught, translated(tmp_path / "queue.db"):
        raise sqlite3.OperationalError(words)
    assert type(caught.value) is QueueFailed
    assert reported in caught.value.message
    assert str(tmp_path / "queue.db") in caught.value.message
    assert "quarantine" not in caught.value.hint


def test_a_directory_that_sqlite_cannot_write_in_is_named_with_the_reason(tmp_path, monkeypatch):
    """The file itself can be written, but not its log."""
    fill(tmp_path, 1)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(QueueFailed) as caught, translated(tmp_path / "queue.db"):
        raise sqlite3.OperationalError("unable to open database file")
    assert caught.value.message == f"cannot write {tmp_path}: Permission denied"


def test_a_page_that_the_disk_did_not_give_is_not_taken_for_damage(tmp_path):
    """SQLite reports the failed read in the words of its check: 266 is SQLITE_IOERR_READ."""
    fill(tmp_path, 1)
    report = "database disk image is malformed: unable to get the page. error code={}"
    for code, error in ((266, QueueFailed), (10, QueueFailed), (11, QueueDamaged)):
        with pytest.raises(QueueFailed) as caught, translated(tmp_path / "queue.db"):
            raise sqlite3.DatabaseError(report.format(code))
        assert type(caught.value) is error
        assert str(tmp_path / "queue.db") in caught.value.message


READS = """
import sys, pysync.queue as q
try:
    q.EventQueue(sys.argv[1], quarantine=True)
except q.QueueFailed as error:
    print(error)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
@pytest.mark.parametrize("when", ["1+", "2", "3", "5"])
def test_a_disk_that_cannot_be_read_is_not_taken_for_damage(tmp_path, when):
    """By the system itself: reads fail, all of them or one. Nothing is set aside, though quarantine was asked for."""
    fill(tmp_path, 100)
    file = tmp_path / "queue.db"
    inject = ["-e", "trace=pread64,read", "-e", f"inject=pread64,read:error=EIO:when={when}"]
    command = ["strace", "-qq", "-o", "/dev/null", "-P", str(file), *inject]
    done = subprocess.run([*command, sys.executable, "-c", READS, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") <= 1
    assert "quarantine" not in done.stdout
    assert not done.stdout or f"the disk of {file} fails" in done.stdout
    assert not list(tmp_path.glob("*.damaged-*"))
    with opened(tmp_path) as queue:
        assert queue.size == 100


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount")
def test_a_disk_that_is_mounted_read_only_is_told_so(tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    mount("-t", "tmpfs", "tmpfs", str(directory))
    try:
        fill(directory, 3)
        subprocess.run(["mount", "-o", "remount,ro", directory], check=True)
        assert "read-only" in refused(directory).message
    finally:
        unmount(directory)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot keep the queue in" in refused(tmp_path / "file" / "queue").message


def test_a_directory_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root everything is writable
    assert "not writable" in refused(tmp_path).message


def test_a_full_disk_at_the_first_start_is_told(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(QueueFull):
        opened(tmp_path)


def test_a_large_file_is_checked_only_for_a_while(tmp_path, monkeypatch):
    fill(tmp_path, events=3000, size=8000)
    monkeypatch.setattr(database, "CHECK_SECONDS", 0.0)
    for _ in range(20):
        with opened(tmp_path) as queue:
            assert queue.size == 3000


def test_a_check_that_is_interrupted_counts_as_far_as_it_got(tmp_path, monkeypatch):
    fill(tmp_path, 1)
    interrupted = []

    class Timer:
        """Its time is over as soon as SQLite has begun the next statement."""

        def __init__(self, seconds, interrupt):  # noqa: ARG002
            self.connection = interrupt.__self__

        def start(self):
            self.connection.set_progress_handler(lambda: interrupted.append(1) or 1, 1)

        def cancel(self):
            self.connection.set_progress_handler(None, 0)

        def join(self):
            pass

    monkeypatch.setattr(queue_file.threading, "Timer", Timer)
    with opened(tmp_path) as queue:
        assert queue.size == 1
    assert interrupted
