"""kill -9 at a random moment, again and again, on one and the same queue.

Run as a program it is the victim: 8 writers, 2 targets that drain, and trimming. It notes in plain files (they
outlive the process) what was acknowledged, and what a target was given before it advances past it. A note counts
only with the mark at its end: the kill may tear it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from pysync.queue import EventQueue

ROUNDS = 15  # at least
ACKED = 1500  # at least, over all rounds
WRITERS = 8
TARGETS = ("dr", "lake")


def note(file):
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, b"\n")  # ends what was torn
    return descriptor


def notes(file):
    return [line[:-1] for line in file.read_text().split("\n") if line.endswith(";")]


def write(queue, acked, repeat):
    for instance, number in repeat:
        assert queue.intake.append(instance, number, "onprem", b"again") is False, f"{instance}:{number} was forgotten"
    instance, number = str(uuid.uuid4()), 0
    while True:
        number += 1
        name = f"{instance}:{number}".encode()
        assert queue.intake.append(instance, number, "onprem", name + bytes(random.randrange(3000))) is True
        os.write(acked, name + b";\n")


def drain(queue, target, given):
    while True:
        if queue.target(target).wait(1):
            events = queue.target(target).window(random.randrange(1, 100), 10**6)
            lines = [b"%d " % e.position + e.data.rstrip(b"\0") + b";\n" for e in events]
            os.write(given, b"".join(lines))
            queue.target(target).advance(events[-1].position)


def trim(queue):
    while True:
        queue.trim()
        time.sleep(0.05)


def checked(work, *args):
    try:
        work(*args)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        os._exit(3)


def victim(directory):
    queue = EventQueue(directory / "queue", min_free_bytes=0)
    for target in TARGETS:
        queue.target(target).register()
    acked = note(directory / "acked")
    earlier = [line.rsplit(":", 1) for line in notes(directory / "acked")[-200:]]
    repeat = [(instance, int(number)) for instance, number in earlier]
    jobs = [(write, queue, acked, repeat[n::WRITERS]) for n in range(WRITERS)]
    jobs += [(drain, queue, target, note(directory / target)) for target in TARGETS] + [(trim, queue)]
    for job in jobs:
        threading.Thread(target=checked, args=job, daemon=True).start()
    print("ready", flush=True)  # noqa: T201
    time.sleep(60)


def kill_once(directory):
    with subprocess.Popen([sys.executable, __file__, directory], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        line = p.stdout.readline()
        time.sleep(random.uniform(0.0, 0.6))
        p.kill()
        _, errors = p.communicate()
    assert (line, p.returncode, errors) == (b"ready\n", -9, b"")


def given_to(directory, target):
    """Position → event of what `target` was given; the same position must always have been the same event."""
    given = {}
    for line in notes(directory / target):
        position, event = line.split(" ")
        assert given.setdefault(int(position), event) == event
    return given


def check(directory):
    with EventQueue(directory / "queue", min_free_bytes=0) as queue:
        positions = queue.positions()
        left = {
            t: {e.position: e.data.rstrip(b"\0").decode() for e in queue.target(t).window(10**6, 10**9)}
            for t in TARGETS
        }
        missing = {i.instance: i.missing for i in queue.intake.instances() if i.missing}
        received = sum(i.received for i in queue.intake.instances())
    acked = notes(directory / "acked")
    for target in TARGETS:
        given = given_to(directory, target)
        assert set(range(1, positions[target] + 1)) <= given.keys(), "advanced past what was not delivered"
        whole = {**given, **left[target]}
        assert all(given.get(position, event) == event for position, event in left[target].items())
        assert sorted(whole) == list(range(1, len(whole) + 1))
        assert set(acked) <= set(whole.values()), "an acknowledged event was lost"
        assert len(set(whole.values())) == len(whole) == received, "an event is there twice"
        last = {}
        for position in sorted(whole):
            instance, number = whole[position].rsplit(":", 1)
            assert int(number) == last.get(instance, 0) + 1, "a writer's order is broken"
            last[instance] = int(number)
    assert missing == {}
    return len(acked)


@pytest.mark.crash
def test_kill_at_any_moment(tmp_path):
    """A slow disk acknowledges less in a round; the rounds go on until enough was at stake."""
    acked = rounds = 0
    while rounds < ROUNDS or acked < ACKED:
        kill_once(tmp_path)
        now = check(tmp_path)
        assert now >= acked
        acked, rounds = now, rounds + 1


if __name__ == "__main__":
    victim(Path(sys.argv[1]))
