"""Many threads, and a sidecar that hangs, comes and goes: the deadline once, order always, nothing twice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.listener.driver import Place
from tests.listener.stand import DEADLINE, Stand, database_in
from tests.support import wait_until

pytestmark = pytest.mark.crash

SLACK = 1.5
"""For fifty threads on few cores, and one fsync of each, in seconds."""
THREADS = 50


def test_fifty_threads_wait_for_a_hung_sidecar_once(place: Place) -> None:
    stub = place.stub()
    driver = place.driver(synchronous="true")
    place.wait_for_direct()
    driver.storm(THREADS, 1, "warm")
    before = connections(driver.process.pid, place.bridge.port)
    stub.hang()
    assert DEADLINE <= max(driver.storm(THREADS, 1, "first")) < DEADLINE + SLACK
    assert max(driver.storm(THREADS, 4, "then")) < DEADLINE
    assert len(place.log_lines("does not take events")) == 1

    time.sleep(
        DEADLINE + 0.5
    )  # a report that was on its way when the sidecar hung is no probe, and has its own deadline
    most = 0
    end = time.monotonic() + 8  # a probe waits 5 s: there are two of them in this time, and never two at once
    while time.monotonic() < end:
        most = max(most, len(connections(driver.process.pid, place.bridge.port) - before))
        time.sleep(0.05)
    assert most == 1
    stub.go_on()
    place.wait_for_direct()
    came = stub.names()
    assert len(came) == len(set(came)) == THREADS * 6
    for thread in range(THREADS):
        mine = [name for name in came if name.startswith(f"then{thread}_")]
        assert mine == [f"then{thread}_{step}" for step in range(4)]
        assert came.index(f"first{thread}_0") < came.index(mine[0])


@pytest.mark.crash
def test_fifty_clients_of_a_metastore_do_not_notice_a_hung_sidecar(stand: Stand, place: Place) -> None:
    """What a DDL takes is Derby's, on few cores."""
    stand.bridge.stop()
    stub = place.stub(stand.bridge.port)
    stand.create("hung_warm")  # with a connection to the stub
    wait_until(lambda: "hung_warm" in stub.names(), what="the way to the stub")
    wait_until(stand.is_direct, what="the way back to direct")
    with ThreadPoolExecutor(THREADS) as clients:
        usual = max(clients.map(stand.create, [f"hung_before{number}" for number in range(THREADS)]))
        stub.hang()
        first = list(clients.map(stand.create, [f"hung_first{number}" for number in range(THREADS)]))
        then = list(clients.map(stand.create, [f"hung_then{number}" for number in range(THREADS)]))
    assert max(first) < usual + 2, f"usually {usual:.2f} s"
    assert max(then) < usual + 2, f"usually {usual:.2f} s"
    stub.go_on()
    wait_until(lambda: stand.spooled() == 0, seconds=30, what="the delivery")
    assert len([name for name in stub.names() if name.startswith("hung_")]) == 3 * THREADS + 1


def connections(pid: int, port: int) -> set[str]:
    """The TCP connections that a process has to a port, or is making, by inode: the kernel may list one twice."""
    inodes = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            remote, inode = int(fields[2].rpartition(":")[2], 16), f"socket:[{fields[9]}]"
            if remote == port and fields[3] in {"01", "02"} and inode in inodes:
                found.add(inode)
    return found


@pytest.mark.parametrize("synchronous", ["false", "true"])
def test_order_while_the_sidecar_comes_and_goes(place: Place, synchronous: str) -> None:
    """Twenty times, under four threads: each thread's order holds, and no number is missing."""
    place.bridge.start()
    driver = place.driver(synchronous=synchronous)
    place.wait_for_direct()
    rounds, count = 0, 0
    while rounds < 20:
        driver.tell("storm", 4, 150, f"r{rounds}t", 300)
        for _ in range(2):
            place.bridge.stop()
            time.sleep(0.02 * (rounds % 4))
            place.bridge.start()
            time.sleep(0.02)
            rounds += 1
        driver.storm_over()  # how long each call took is for the tests of one hung sidecar
        count += 600
    place.wait_for_count(count)
    came = [database_in(event) for event in place.bridge.events]
    assert len(came) == count
    assert sorted(event.sequence for event in place.bridge.events) == list(range(1, count + 1))
    by_thread: dict[str, list[int]] = {}
    for event in place.bridge.events:
        by_thread.setdefault(event.attributes["thread"], []).append(event.sequence)
    assert len(by_thread) == 4 * 10
    assert all(mine == sorted(mine) for mine in by_thread.values())
    assert place.log_lines("does not take events"), "the sidecar was never missed: this proves nothing"


def test_a_listener_that_is_configured_twice_numbers_an_event_once(place: Place) -> None:
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    for name in ("a", "b"):
        driver.ask("twice", name)
    driver.create("c")
    place.wait_for_count(3)
    assert [database_in(event) for event in place.bridge.events] == ["a", "b", "c"]
    assert [event.sequence for event in place.bridge.events] == [1, 2, 3]
