"""The short form of the chaos (`python -m tests.chaos`): each thing once, on one stage, amid a stream of DDL."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.base.crashpoints import POINTS, VARIABLE, armed, crash_point
from pysync.base.errors import UsageError
from tests.chaos import scenarios
from tests.chaos.scenarios import Scenario, crash_at, disturb, perform
from tests.chaos.stand import Stand, chaos_stand

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    with chaos_stand(tmp_path_factory.mktemp("stand")) as built:
        yield built


def assert_nothing_lost(stand: Stand, *scenes: Scenario) -> None:
    """All of them amid one stream: then there is only one end to wait for."""

    def act(stand: Stand, chance: random.Random) -> None:
        for scene in scenes:
            scene.act(stand, chance)

    tally = perform(stand, Scenario(" and ".join(scene.name for scene in scenes), act, clients=2, pause=0.3))
    assert tally.lost == 0, tally
    assert tally.committed >= 10, f"hardly anything happened: {tally}"


@pytest.mark.crash
@pytest.mark.timeout(900)
def test_a_sidecar_killed_at_every_crash_point_in_turn_loses_nothing(stand: Stand) -> None:
    assert_nothing_lost(stand, *(Scenario(point, crash_at(point)) for point in POINTS))


@pytest.mark.crash
@pytest.mark.timeout(900)
def test_hangs_and_a_bad_network_on_both_sides_lose_nothing(stand: Stand) -> None:
    assert_nothing_lost(
        stand,
        Scenario("sidecar hangs", scenarios.stop_sidecar),
        Scenario("target hangs", scenarios.stop_target),
        Scenario("listener to sidecar", disturb(lambda stand: stand.bridge)),
        Scenario("sidecar to target", disturb(lambda stand: stand.target)),
    )


@pytest.mark.crash
@pytest.mark.timeout(900)
def test_full_disks_and_power_cuts_lose_nothing(stand: Stand) -> None:
    """The queue's disk below its floor, then without a byte left: the listener spools; once freed, all arrives."""
    if stand.no_disks:
        pytest.skip(f"no disk of our own to fill and to cut off: {stand.no_disks}")
    assert_nothing_lost(
        stand,
        Scenario("queue's disk full", scenarios.fill_queue_disk),
        Scenario("power cut", scenarios.cut_power),
        Scenario("spool's disk full", scenarios.fill_spool_disk),
        Scenario("power cut", scenarios.cut_power),
    )


# --- the points themselves


def test_an_armed_process_dies_at_its_point_and_at_no_other() -> None:
    program = (
        "from pysync.base.crashpoints import crash_point\n"
        "for name in ('trim.written', 'append.written', 'append.written', 'append.written'):\n"
        "    crash_point(name); print(name, flush=True)\n"
    )
    environment = {**os.environ, VARIABLE: "append.written:2"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (-9, ["trim.written", "append.written"], "")


@pytest.mark.parametrize("spelled", ["append.wrote", "append.written:x", "append.written:-1", ":3"])
def test_a_point_that_is_not_there_is_refused(spelled: str) -> None:
    with pytest.raises(UsageError, match="there is no crash point"):
        armed(spelled)


def test_every_point_is_in_the_code_and_every_one_in_the_code_is_known() -> None:
    text = "".join(file.read_text() for file in (ROOT / "pysync").rglob("*.py") if file.name != "crashpoints.py")
    calls = "".join(line for line in text.splitlines() if "crash_point(" in line)
    assert set(calls.split('"')[1::2]) == set(POINTS)


def test_what_is_not_armed_does_nothing() -> None:
    assert armed(None) is armed("") is crash_point
    assert crash_point("append.written") is None
