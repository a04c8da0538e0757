"""Each worker of the sidecar meets a bug: status, health and metrics say which, until it works again."""

from __future__ import annotations

import sqlite3
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from pysync.base.errors import PysyncError
from pysync.capture import source_watch
from pysync.capture.notifications import poller
from pysync.capture.notifications.poller import Poller
from pysync.capture.source_watch import SourceWatch
from pysync.config import load_config
from pysync.control.client import ask
from pysync.parts import ALL_PARTS
from pysync.queue import QueueFailed
from pysync.queue.queue_file import QueueFile
from pysync.replay import drain
from pysync.replay.drain import Drain
from pysync.resync import job
from pysync.resync.healing import Healer
from pysync.resync.job import ResyncJob
from pysync.sidecar import verifying
from pysync.sidecar.sidecar import Sidecar
from pysync.sidecar.verifying import Verifier
from tests.support import wait_until
from tests.support.sidecars import FaultyPlace, unused_port

WORKERS: dict[str, tuple[type[Any], str]] = {
    "drain-try": (Drain, "_turn"),
    "gap-resync": (Healer, "_turn"),
    "resync-try": (ResyncJob, "turn"),
    "source": (SourceWatch, "turn"),
    "verify-try": (Verifier, "_is_due"),
    "notification-log": (Poller, "_turn"),
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in [
        (drain, "_BUG_WAIT_SECONDS"),
        (poller, "_BUG_WAIT_SECONDS"),
        (source_watch, "_EVERY_SECONDS"),
        (job, "_RETRY_SECONDS"),
        (verifying, "_RETRY_SECONDS"),
        (verifying, "_FIRST_SECONDS"),
    ]:
        monkeypatch.setattr(module, name, 0.2)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[[str], Sidecar]]:
    """Start a sidecar that has this worker, among others."""
    running: list[Sidecar] = []
    place = FaultyPlace(tmp_path)

    def start(name: str) -> Sidecar:
        web = unused_port()
        place.write(more=f'faults = []\n[web]\nport = {web}\n[verify]\nevery = "1h"\n')
        capture = 'capture = "notification-log"\n' if name == "notification-log" else ""
        text = place.file.read_text().replace("[bridge]", f'{capture}metastore = "{place.away}"\n[bridge]', 1)
        place.file.write_text(text)
        sidecar = Sidecar(load_config(place.file), ALL_PARTS)
        running.append(sidecar)
        sidecar.start()
        return sidecar

    with structlog.testing.capture_logs():
        yield start
        for sidecar in running:
            sidecar.stop()


def state_of(sidecar: Sidecar, name: str) -> str:
    return {it["name"]: it["state"] for it in sidecar.status()["workers"]}[name]


def get(sidecar: Sidecar, path: str) -> tuple[int, str]:
    assert sidecar._web is not None
    port = urllib.parse.urlsplit(sidecar._web.url).port
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_that_meets_a_bug_is_told_of_by_everything(
    run: Callable[[str], Sidecar], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kind, method = WORKERS[name]
    working = getattr(kind, method)

    broken = threading.Event()
    broken.set()

    def sometimes(*arguments: Any) -> Any:
        if broken.is_set():
            raise KeyError("a bug of ours")
        return working(*arguments)

    monkeypatch.setattr(kind, method, sometimes)
    sidecar = run(name)
    wait_until(lambda: state_of(sidecar, name) == "failing", what="the failure being told")
    text = f"worker {name} is failing: KeyError: 'a bug of ours'"
    line = f"{text} (journalctl -u pysync)"
    assert text in {it["text"] for it in sidecar.status()["problems"]}
    for path in ("/health", "/live"):
        code, text = get(sidecar, path)
        assert (code, line in text.splitlines()) == (503, True)
    shown = get(sidecar, "/metrics")[1]
    assert f'pysync_worker_state{{state="failing",worker="{name}"}} 1.0' in shown
    broken.clear()
    monkeypatch.setattr(Verifier, "_is_at_rest", lambda _: True)  # it is well only once it has compared something
    wait_until(lambda: state_of(sidecar, name) != "failing", seconds=30, what="working again")


def test_a_queue_disk_that_does_not_answer_ends_no_sidecar_and_health_says_so(
    run: Callable[[str], Sidecar], monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecar = run("gap-resync")

    @contextmanager
    def broken(_: QueueFile) -> Iterator[sqlite3.Connection]:
        raise QueueFailed("queue.db: disk I/O error", "look at the disk")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(QueueFile, "reading", broken)
        assert sidecar._keep_house() == 0
        code, text = get(sidecar, "/health")
        assert (code, "disk I/O error" in text) == (503, True)
        with pytest.raises(PysyncError, match="disk I/O error"):
            ask(sidecar._config.queue.directory, "status")
    assert sidecar._keep_house() == 0
    assert ask(sidecar._config.queue.directory, "status")["queue"]["epoch"] == sidecar.queue.epoch
