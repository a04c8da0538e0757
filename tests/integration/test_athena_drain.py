"""Faults of Athena, through the whole replay: nothing is lost, nothing parked, and what is done twice counts once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import pytest

from pysync.lab.aws import EmbeddedAws
from pysync.model.event import Event
from tests.bench.histories import History
from tests.support import wait_until
from tests.support.glue import every
from tests.support.glue_drains import Drains, catalog, drains, of, renamed
from tests.support.proxy import Proxy

pytestmark = pytest.mark.athena

_NUMBERS = count(1)
_SYSTEM = {"code": "x", "reason": "GENERIC_INTERNAL_ERROR", "type": 200, "category": 1}

FAULTS: dict[str, list[dict[str, Any]]] = {
    "throttled at the start": [
        {"target": "Athena.StartQueryExecution", "code": "ThrottlingException", "reason": "Rate exceeded", "count": 4},
        {"target": "Athena.StartQueryExecution", "code": "TooManyRequestsException", "count": 4},
    ],
    "throttled by Glue": [
        {"target": "Athena.exec", "code": "x", "reason": "Rate exceeded", "type": 1401, "category": 1, "count": 4}
    ],
    "expired credentials": [{"target": "Athena.StartQueryExecution", "code": "ExpiredTokenException", "count": 6}],
    "access denied": [
        {"target": "Athena.exec", "code": "x", "reason": "Insufficient permissions", "type": 1500, "count": 3},
        {"target": "Glue.GetTable", "code": "AccessDeniedException", "count": 5},
    ],
    "failed, before or after it was done": [
        {"target": "Athena.exec", "after": after, **_SYSTEM} for after in (True, False, True, True)
    ],
    "hanging": [{"target": "Athena.exec", "delay_seconds": 60.0, "count": 2}],
    "answers lost": [
        {"target": "Athena.StartQueryExecution", "after": True, "count": 12},
        {"target": "Athena.BatchGetQueryExecution", "lose": True, "count": 5},
    ],
    "looks throttled": [{"target": "Athena.BatchGetQueryExecution", "code": "ThrottlingException", "count": 5}],
    "looks denied": [{"target": "Athena.BatchGetQueryExecution", "code": "AccessDeniedException"}],
    "refused": [
        {"target": "Athena.exec", "code": "x", "reason": reason, "type": 1003}
        for reason in ("FAILED: NullPointerException Name is null", "NoSuchBucket", "Invalid column type", "whatever")
    ],
}


def a_history(name: str) -> list[Event]:
    made = History(name, "s3://bucket/warehouse")
    owners = [made.table(f"t{number}", 3) for number in range(2)]
    return [made.begin(), *map(made.create, owners), *made.ingest(owners, 30), *made.mixed(owners, 22)]


@pytest.fixture(scope="module")
def aws(shared_aws: EmbeddedAws) -> Iterator[EmbeddedAws]:
    with pytest.MonkeyPatch.context() as patch:
        for key, value in shared_aws.environment().items():
            if key != "AWS_ENDPOINT_URL":
                patch.setenv(key, value)
        yield shared_aws
    shared_aws.clear_faults()


def replayed(found: Drains, aws: EmbeddedAws, name: str) -> dict[str, Any]:
    """What the history leads to, in a database of that name."""
    place = {"endpoint_url": aws.url, "staging": "s3://staging/", "poll_seconds": 0.05}
    found.add("athena", name=name, window=40, lanes=2, statement_timeout_seconds=2.0, **place)
    found.append(a_history(name))
    found.finish(name, 120)
    assert found.queue.target(name).parked.count() == 0
    return of(catalog(aws.client("glue")), name)


@pytest.fixture(scope="module")
def undisturbed(aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with drains(tmp_path_factory.mktemp("undisturbed")) as found:
        return replayed(found, aws, "calm")


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_change_nothing_about_the_end(
    aws: EmbeddedAws, undisturbed: dict[str, Any], tmp_path: Path, fault: str
) -> None:
    name = f"storm{next(_NUMBERS)}"
    for members in FAULTS[fault]:
        aws.fault(**members)
    with drains(tmp_path) as found:
        there = replayed(found, aws, name)
    assert there == renamed(undisturbed, "calm", name)


_THROTTLED = {
    "athena": [
        {"target": "Athena.StartQueryExecution", "code": "TooManyRequestsException"},
        {"target": "Athena.StartQueryExecution", "code": "ThrottlingException", "reason": "Rate exceeded"},
    ],
    "glue": [
        {"target": f"Glue.{call}", "code": "ThrottlingException", "reason": "Rate exceeded"}
        for call in ("GetTable", "CreateTable", "UpdateTable", "BatchCreatePartition")
    ],
}
_LONG_SECONDS = 30.0
_MOST_TRIES = 80
"""In 30 s: five of a statement, or three by botocore, for each try of the drain's, whose waits double up to 5 s."""


@pytest.mark.parametrize("kind", _THROTTLED)
def test_half_a_minute_of_throttling_is_waited_for(aws: EmbeddedAws, tmp_path: Path, kind: str) -> None:
    """By the clock: nothing is parked or given up, the account is not hammered meanwhile, and the end is the same."""
    place = {"staging": "s3://staging/", "poll_seconds": 0.05} if kind == "athena" else {}
    calm, storm = (f"{what}{next(_NUMBERS)}" for what in ("calm", "storm"))
    with drains(tmp_path) as found:
        found.add(kind, name=storm, window=40, lanes=2, endpoint_url=aws.url, retry_max_seconds=5.0, **place)
        found.append(a_history(calm))
        found.finish(storm, 120)
        for members in _THROTTLED[kind]:
            aws.fault(count=1_000_000, **members)
        aws.reset_calls()
        found.append(a_history(storm))
        wait_until(lambda: found.status(storm)["state"] == "waiting", what="the waiting of the throttled target")
        time.sleep(_LONG_SECONDS)
        tried = sum(aws.calls().get(target, 0) for target in {members["target"] for members in _THROTTLED[kind]})
        assert found.queued(storm)
        assert found.status(storm)["state"] == "waiting"
        assert 0 < tried <= _MOST_TRIES
        aws.clear_faults()
        found.finish(storm, 120)
        assert found.queue.target(storm).parked.count() == 0
    there = catalog(aws.client("glue"))
    assert of(there, calm)
    assert of(there, storm) == renamed(of(there, calm), calm, storm)


def created(name: str, tables: int) -> list[Event]:
    """A database with some tables: a statement each."""
    made = History(name, "s3://bucket/warehouse")
    return [made.begin(), *(made.create(made.table(f"t{number}", 3)) for number in range(tables))]


_CREATED = {"CREATE DATABASE": 1, "CREATE TABLE": 30}


def test_a_look_that_hangs_holds_up_one_lane(aws: EmbeddedAws, tmp_path: Path) -> None:
    """For as long as a call may take; the other lanes ask without it."""
    name = f"hangs{next(_NUMBERS)}"
    aws.reset_calls()
    with drains(tmp_path) as found:
        found.add("athena", name=name, endpoint_url=aws.url, staging="s3://staging/", poll_seconds=0.05)
        found.append(created(name, 0))
        found.finish(name, 120)
        aws.fault("Athena.BatchGetQueryExecution", delay_seconds=30.0)
        found.append(created(name, 30)[1:])
        wait_until(lambda: len(_tables(aws, name)) == 30, seconds=60, what="the tables")
        assert found.queued(name), "the lane that asked is not done"
        found.finish(name, 120)
    assert aws.statements() == _CREATED


@pytest.mark.smoke
def test_connections_that_are_cut_lose_nothing_and_do_nothing_twice(aws: EmbeddedAws, tmp_path: Path) -> None:
    """Resets in the middle of whatever goes over the wire, to Athena and Glue."""
    name, done = f"cut{next(_NUMBERS)}", Flag()
    proxy = Proxy(int(aws.url.rpartition(":")[2]))
    aws.reset_calls()

    def cut() -> None:
        while not done.wait(0.1):
            proxy.cut()

    cutter = Thread(target=cut)
    with drains(tmp_path) as found:
        place = {"endpoint_url": f"http://127.0.0.1:{proxy.port}", "staging": "s3://staging/", "poll_seconds": 0.05}
        found.add("athena", name=name, lanes=8, **place)
        cutter.start()
        found.append(created(name, 30))
        try:
            found.finish(name, 120)
        finally:
            done.set()
            cutter.join()
        assert found.queue.target(name).parked.count() == 0
    proxy.close()
    assert len(_tables(aws, name)) == 30
    assert aws.statements() == _CREATED


def _tables(aws: EmbeddedAws, database: str) -> list[str]:
    return [it["Name"] for it in every(aws.client("glue"), "get_tables", "TableList", DatabaseName=database)]
