"""Damage of every kind, anywhere in the queue's file: never does it give other bytes for those that were written."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections import Counter

import pytest

from pysync.queue import Entry, EventQueue, QueueFailed
from tests.support.damage import KINDS
from tests.support.queues import park

DAMAGES = int(os.environ.get("PYSYNC_DAMAGES", "80"))
EVENTS = 150


def written(number):
    return random.Random(number).randbytes(number * 37 % 3000) + b"event %d" % number


def opened(directory):
    return EventQueue(directory, min_free_bytes=0, lock_timeout=0)


def fill(directory):
    with opened(directory) as queue:
        for target in ("dr", "lake"):
            queue.target(target).register()
        for number in range(1, EVENTS + 1):
            queue.intake.append_all([Entry(f"jvm{number % 3}", number, "onprem", written(number), firm=True)])
        queue.target("dr").advance(40, [park(at, data=written(at)) for at in range(31, 40)], {44, 50})
        queue.target("lake").advance(20)
        queue.trim()
        queue.target("lake").pause("by hand")
        queue.notes.put("living", "77")
        queue.gaps.open("ended:old:3", "it ended")


def state_of(queue):
    """All that a queue says, but for gaps."""
    instances = {it.instance: (it.received, it.highest, it.missing) for it in queue.intake.instances()}
    parked = {it.position: it.data for it in queue.target("dr").parked.events()} if "dr" in queue.positions() else {}
    return {
        "positions": queue.positions(),
        "instances": instances,
        "parked": parked,
        "finished": queue.target("dr").finished(),
        "paused": queue.target("lake").paused() if "lake" in queue.positions() else None,
        "note": queue.notes.get("living"),
        "epoch": queue.epoch,
        "last": queue.last,
    }


def every(queue):
    """The data of every event that is kept."""
    events = {}
    while chunk := queue.events(max(events, default=0), 50, 10**9):
        events |= {event.position: event.data for event in chunk}
    return events


def outcome(directory, expected):
    """What became of the damage: nothing, refused, noticed (a gap is open for it), or what differs in silence."""
    try:
        with opened(directory) as queue:
            events = every(queue)
            found = {**state_of(queue), "events": events}
            noticed = any(gap.key.startswith("damaged:") for gap in queue.gaps.unclosed())
    except QueueFailed:
        return "refused"
    except Exception as error:
        return f"not refused but {error!r}"
    others = [it for it, data in found["events"].items() if data not in (b"", expected["events"].get(it))]
    if others:
        return f"silent: other bytes for {others}"
    if noticed:
        return "noticed"
    return "nothing" if found == expected else f"silent: {[it for it in found if found[it] != expected[it]]}"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sound")
    fill(directory)
    with opened(directory) as queue:
        expected = state_of(queue)
    expected["events"] = {at: written(at) for at in range(21, EVENTS + 1)}
    return directory, expected


def test_no_damage_of_the_file_gives_other_bytes(sound, tmp_path):
    source, expected = sound
    data = (source / "queue.db").read_bytes()
    outcomes, silent = Counter(), []
    for seed in range(DAMAGES):
        chance = random.Random(seed)
        damaged = bytearray(data)
        what = KINDS[seed % len(KINDS)](damaged, chance)
        directory = tmp_path / str(seed)
        shutil.copytree(source, directory)
        (directory / "queue.db").write_bytes(damaged)
        found = outcome(directory, expected)
        outcomes[found.split(":")[0]] += 1
        if found.startswith(("silent", "not refused")):
            silent.append(f"{what}: {found}")
        shutil.rmtree(directory)
    sys.stdout.write(f"{DAMAGES} damages: {dict(outcomes)}\n")
    assert silent == [], outcomes
