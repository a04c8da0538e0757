"""An upgrade, sidecar first: with the real jar from before the handshake, built from the project's history."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.listener.driver import Place
from tests.listener.stand import ROOT, TOKEN, database_in
from tests.support import wait_until

pytestmark = pytest.mark.crash

BEFORE = "62a1916"
"""The last commit whose listener sends the token itself."""
NAMES = [f"d{number}" for number in range(5)]


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it was, with its jar built. Needs the history: `git fetch --unshallow` in a shallow clone."""
    tree = tmp_path_factory.mktemp("before")
    packed = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(tree, filter="data")
    build = [sys.executable, str(tree / "listener-java" / "build.py"), "--output", str(tree / "old.jar")]
    subprocess.run(build, check=True, capture_output=True)
    return tree


@pytest.fixture
def old(tmp_path: Path, driver_classes: Path, old_tree: Path) -> Iterator[Place]:
    """Where the old listener runs."""
    place = Place(tmp_path, driver_classes, old_tree / "old.jar")
    yield place
    place.close()


def names(place: Place) -> list[str]:
    return [database_in(event) for event in place.bridge.events]


def test_an_old_listener_is_refused_and_its_events_come_by_the_new_one(old: Place, jar: Path) -> None:
    with structlog.testing.capture_logs() as lines:
        old.bridge.start()
        driver = old.driver()
        for name in NAMES:
            driver.create(name)
        wait_until(lambda: bool(old.log_lines("it does not accept the token")), seconds=30, what="the listener's line")
    assert names(old) == []
    assert [line["reason"] for line in lines if line["event"] == "caller_refused"] == [
        "the listener is of an older release and sends the token itself; to let it in: [bridge] old_listeners = true"
    ]
    driver.kill()
    old.jar = jar
    old.driver()
    old.wait_for_count(len(NAMES))
    assert names(old) == NAMES


def test_an_old_listener_may_deliver_while_that_is_permitted(old: Place, jar: Path) -> None:
    old.bridge.start(old_listeners=True)
    driver = old.driver()
    old.wait_for_direct()
    for name in NAMES:
        driver.create(name)
    old.wait_for_count(len(NAMES))
    wait_until(lambda: bool(old.bridge.reports), what="a report")
    driver.terminate()
    old.jar = jar
    driver = old.driver()
    driver.create("new")
    wait_until(lambda: names(old)[-1:] == ["new"], what="the new listener's event")
    assert [name for name in names(old) if name] == [*NAMES, "new"]


def test_a_new_listener_tells_an_old_sidecar_neither_token_nor_event_and_waits(place: Place, old_tree: Path) -> None:
    """The wrong order: nothing is lost, and HMS's log says what to do."""
    code = "from tests.listener.stub import main; from pathlib import Path; import sys; "
    code += "main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))"
    events = place.directory / "events"
    command = [sys.executable, "-c", code, str(place.bridge.port), str(place.token), str(events)]
    with subprocess.Popen(command, cwd=old_tree, env={"PYTHONPATH": str(old_tree)}, stdout=subprocess.PIPE) as stub:
        try:
            assert stub.stdout is not None
            assert stub.stdout.readline() == b"ready\n"
            driver = place.driver()
            for name in NAMES:
                driver.create(name)
            wait_until(lambda: bool(place.log_lines("an older pysync, to be upgraded first")), what="the line")
        finally:
            stub.kill()
    assert not events.exists()
    assert TOKEN not in (place.directory / "driver.log").read_text()
    place.bridge.start()
    place.wait_for_count(len(NAMES))
    assert names(place) == NAMES
