"""The metastore does not suffer, and nothing is lost, whatever the sidecar does."""

from __future__ import annotations

import fcntl
import os
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.listener.stand import (
    DEADLINE,
    LISTENER,
    SPOOL_HEADER,
    TOKEN,
    Event,
    Stand,
    names_in,
    record,
    records,
    silent_server,
)
from tests.support import partition, table, wait_for_value, wait_until

pytestmark = pytest.mark.crash

QUICK = DEADLINE * 0.8
"""A call that did not wait for the deadline; a Derby call alone takes some 20 ms, on a machine that has time."""


@pytest.fixture
def names() -> list[str]:
    """Six database names, in order."""
    mark = uuid.uuid4().hex[:10]
    return [f"d{number}_{mark}" for number in range(6)]


def arrived(stand: Stand, names: list[str]) -> list[str]:
    """Those of the names that came, in their order."""
    return [name for event in list(stand.bridge.events) for name in names if name in names_in(event)]


def wait_for_all(stand: Stand, names: list[str]) -> None:
    wait_for_value(lambda: arrived(stand, names), names, what="all in order")


def test_sidecar_that_is_away_costs_no_time(stand: Stand, names: list[str]) -> None:
    stand.bridge.stop()
    assert max(stand.create(name) for name in names) < QUICK
    assert stand.spooled() == len(names)
    stand.bridge.start()
    wait_for_all(stand, names)
    stand.settle()
    (kept,) = stand.spool.glob("*.spool")
    assert kept.read_bytes() == SPOOL_HEADER


def test_files_are_for_their_owner_only(stand: Stand, names: list[str]) -> None:
    stand.bridge.stop()
    stand.create(names[0])
    (spool,) = stand.spool.glob("*.spool")
    assert stand.spool.stat().st_mode & 0o777 == 0o700
    assert spool.stat().st_mode & 0o777 == 0o600
    assert spool.read_bytes().startswith(SPOOL_HEADER)
    (event,) = records(spool.read_bytes())
    assert names[0] in names_in(Event.parse(event))
    stand.bridge.start()


def test_sidecar_that_hangs_costs_no_time(stand: Stand, names: list[str]) -> None:
    go_on = threading.Event()

    def hang(_event: Event) -> str:
        go_on.wait(20)
        return "queued"

    stand.bridge.answer = hang
    try:
        assert max(stand.create(name) for name in names) < QUICK
    finally:
        go_on.set()
    wait_for_all(stand, names)


def test_server_that_accepts_and_says_nothing(stand: Stand, names: list[str]) -> None:
    stand.bridge.stop()
    with silent_server(stand.bridge.port) as accepted:
        assert max(stand.create(name) for name in names) < QUICK
        wait_until(lambda: bool(accepted), what="somebody who asks")
    stand.bridge.start()
    wait_for_all(stand, names)


def test_many_threads_wait_for_nothing(stand: Stand) -> None:
    go_on = threading.Event()

    def hang(_event: Event) -> str:
        go_on.wait(20)
        return "queued"

    mark = uuid.uuid4().hex[:10]
    names = [f"p{number}_{mark}" for number in range(20)]
    stand.bridge.answer = hang
    try:
        with ThreadPoolExecutor(20) as workers:
            times = list(workers.map(stand.create, names))
    finally:
        go_on.set()
    assert max(times) < 2  # twenty at once on Derby, on few cores
    wait_until(lambda: sorted(arrived(stand, names)) == sorted(names), what="all of them")


def test_restarted_sidecar_is_found_at_once(stand: Stand, names: list[str]) -> None:
    stand.create(names[0])
    wait_for_all(stand, names[:1])
    lines = len(stand.log_lines())
    stand.bridge.stop()
    stand.bridge.start()
    stand.create(names[1])
    wait_for_all(stand, names[:2])
    assert len(stand.log_lines()) == lines  # it was never missed


def test_wrong_token(stand: Stand, names: list[str]) -> None:
    stand.bridge.stop()
    stand.bridge.start("another")
    assert max(stand.create(name) for name in names) < QUICK
    wait_until(lambda: any("does not know the token" in line for line in stand.log_lines()), what="the line")
    assert arrived(stand, names) == []
    stand.bridge.stop()
    stand.bridge.start()
    wait_for_all(stand, names)


def test_token_file_that_comes_later(stand: Stand, names: list[str]) -> None:
    stand.bridge.stop()
    stand.bridge.start()  # connections are authenticated anew
    away = stand.token.rename(stand.token.with_name("away"))
    try:
        assert max(stand.create(name) for name in names) < QUICK
        missing = "cannot be read (NoSuchFileException)"
        wait_until(lambda: any(missing in line for line in stand.log_lines()), what="the line")
    finally:
        away.rename(stand.token)
    wait_for_all(stand, names)


@pytest.mark.parametrize("answer", ["full", "failed", "unsupported", "something else"])
def test_refused_events_wait(stand: Stand, names: list[str], answer: str) -> None:
    stand.bridge.answer = lambda _event: answer
    lines = len(stand.log_lines())
    assert max(stand.create(name) for name in names) < QUICK
    assert stand.spooled() == len(names)
    wait_until(lambda: len(stand.log_lines()) > lines, what="the line")
    stand.bridge.answer = lambda _event: "queued"
    wait_for_all(stand, names)


def test_error_of_the_sidecar(stand: Stand, names: list[str]) -> None:
    def fail(_event: Event) -> str:
        raise ValueError("of the test")

    stand.bridge.answer = fail
    assert max(stand.create(name) for name in names) < QUICK
    stand.bridge.answer = lambda _event: "queued"
    wait_for_all(stand, names)


def test_unreadable_is_not_sent_again(stand: Stand, names: list[str]) -> None:
    asked: list[int] = []

    def refuse(event: Event) -> str:
        asked.append(event.sequence)
        return "unreadable"

    stand.bridge.answer = refuse
    stand.create(names[0])
    stand.create(names[1])
    wait_until(lambda: len(asked) == 2, what="both to be refused")
    wait_until(lambda: stand.spooled() == 0, what="them to be forgotten")
    stand.bridge.answer = lambda _event: "queued"
    stand.create(names[2])
    wait_until(lambda: arrived(stand, names) == names[2:3], what="the third alone")
    assert len(asked) == 2


def test_nothing_is_lost_while_the_sidecar_comes_and_goes(stand: Stand) -> None:
    mark = uuid.uuid4().hex[:10]
    database = f"storm_{mark}"
    stand.create(database)
    wait_until(lambda: arrived(stand, [database]) == [database], what="the database")
    before = len(stand.bridge.events)
    workers = [[f"w{worker}_{step}_{mark}" for step in range(25)] for worker in range(4)]

    def work(mine: list[str]) -> None:
        with stand.metastore as metastore:
            for name in mine:
                metastore.call(lambda client, name=name: client.create_table(table(database, name)))

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(work, mine) for mine in workers]
        while not all(one.done() for one in running):
            time.sleep(0.2)
            stand.bridge.stop()
            time.sleep(0.1)
            stand.bridge.start()
        for one in running:
            one.result()
    stand.settle()
    events = stand.bridge.events[before:]
    came = [next(iter(found)) for event in events if (found := _tables(event, mark))]
    for mine in workers:
        assert [name for name in came if name in mine] == mine
    numbers = sorted(event.sequence for event in events)
    assert numbers == list(range(numbers[0], numbers[0] + 100))


def _tables(event: Event, mark: str) -> set[str]:
    return {name for name in names_in(event) if name.startswith("w") and name.endswith(mark)}


@pytest.fixture
def own(tmp_path: Path, jar: Path) -> Iterator[Stand]:
    """A metastore of the test's own, not started."""
    stand = Stand(tmp_path / "stand", jar)
    yield stand
    stand.close()


def test_the_next_process_delivers_the_spool_of_a_killed_one(own: Stand, names: list[str]) -> None:
    own.server.start()
    for name in names[:3]:
        own.create(name)
    (mine,) = own.spool.glob("*.spool")
    whole = list(records(mine.read_bytes()))
    assert len(whole) == 3
    own.server.kill()

    # What other processes may have left: a cut record, a damaged one, another version, and one in use.
    left = {name: own.spool / f"onprem~{name}.spool" for name in ("torn", "damaged", "newer", "empty", "used")}
    another = own.spool / "onprem2~of-another-source.spool"
    another.write_bytes(SPOOL_HEADER + record(_renamed(whole[0], "else")))
    left["torn"].write_bytes(SPOOL_HEADER + record(_renamed(whole[0], "torn")) + record(whole[1])[:-5])
    bad = bytearray(record(_renamed(whole[1], "bad_")))
    bad[-3] ^= 1
    left["damaged"].write_bytes(SPOOL_HEADER + record(_renamed(whole[0], "good")) + bytes(bad))
    left["newer"].write_bytes(b"PYSYNC-SPOOL 2\n" + record(whole[0]))
    left["empty"].write_bytes(SPOOL_HEADER[:7])
    left["used"].write_bytes(SPOOL_HEADER + record(_renamed(whole[2], "used")))
    for age, name in enumerate(("torn", "damaged")):
        os.utime(left[name], (1_000_000 + age, 1_000_000 + age))
    with left["used"].open("r+b") as used:
        fcntl.lockf(used, fcntl.LOCK_EX)
        own.server.start()
        own.create(names[3])
        own.bridge.start()
        wait_for_all(own, names[:4])
        wait_until(own.is_direct, what="the way back to direct")
        assert left["used"].exists()
    instances = [event.instance for event in own.bridge.events]
    assert instances[-2] != instances[-1]
    assert [event.instance[:4] for event in own.bridge.events[:2]] == ["torn", "good"]
    kept = [
        "onprem2~of-another-source.spool",
        "onprem~damaged.spool.damaged",
        "onprem~newer.spool",
        "onprem~used.spool",
    ]
    assert sorted(path.name for path in own.spool.glob("*.spool*") if instances[-1] not in path.name) == kept
    assert any("newer.spool is not a spool file of version 1" in line for line in own.log_lines())
    assert any("damaged.spool is damaged at byte" in line for line in own.log_lines())


def _renamed(event: bytes, instance: str) -> bytes:
    """The event with another instance of the same length, so that it is another event, of a name nobody waits for."""
    old = Event.parse(event).instance
    changed = event.replace(old.encode(), instance.encode() + old[4:].encode())
    for number in range(3):
        changed = changed.replace(f"d{number}_".encode(), f"x{number}_".encode())
    return changed


def test_nothing_works_and_the_metastore_does(tmp_path: Path, jar: Path, names: list[str]) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("in the place of the spool's directory")
    overrides = {"pysync.spool.dir": str(blocked), "pysync.deadline.ms": "soon"}
    stand = Stand(tmp_path / "stand", jar, overrides)
    stand.token.unlink()
    try:
        stand.server.start()
        assert max(stand.create(name) for name in names[:3]) < 5
        lines = stand.log_lines()
        assert sum("pysync.deadline.ms = 'soon' is not a number" in line for line in lines) == 1
        assert sum("cannot be used" in line for line in lines) == 1
        assert sum("events are lost" in line and "cannot be written" in line for line in lines) == 1
        stand.token.write_text(TOKEN)
        stand.token.chmod(0o600)
        stand.bridge.start()
        wait_until(lambda: any("takes events;" in line for line in stand.log_lines()), what="the way back")
        assert stand.create(names[3]) < 5
        assert [event.sequence for event in stand.bridge.named(names[3])] == [4]  # the gap tells of the lost ones
        assert (
            sum("a call of the metastore waits until the sidecar has its event" in it for it in stand.log_lines()) == 1
        )
    finally:
        stand.close()


def test_a_metastore_that_names_the_listener_twice(tmp_path: Path, jar: Path, names: list[str]) -> None:
    """Hive hands the same event object to both, and they share one delivery."""
    stand = Stand(tmp_path / "stand", jar, {"hive.metastore.event.listeners": f"{LISTENER},{LISTENER}"})
    stand.bridge.start()
    try:
        stand.server.start()
        for name in names:
            stand.create(name)
        stand.call(lambda client: client.create_table(table(names[0], "orders", partition_keys=[("day", "string")])))
        parent = stand.call(lambda client: client.get_table(names[0], "orders"))
        stand.call(lambda client: client.add_partition(partition(parent, ["mon"])))
        stand.call(lambda client: client.drop_partition(names[0], "orders", ["mon"], False))
        stand.call(lambda client: client.drop_table(names[0], "orders", False))
        ours = ["CREATE_TABLE", "ADD_PARTITION", "DROP_PARTITION", "DROP_TABLE"]
        wanted = list(enumerate(["CREATE_DATABASE"] * len(names) + ours, start=1))
        wait_for_value(lambda: [(it.sequence, it.kind) for it in stand.bridge.events], wanted, what="the events")
    finally:
        stand.close()
