"""The JSON API of a running sidecar says what the commands print with `--json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pysync.base.token import write_token
from tests.support import wait_until
from tests.support.drains import create, create_database
from tests.support.sidecars import FaultyPlace, Sidecar, send, sidecar, wait_for
from tests.support.visitors import PageVisitor


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> FaultyPlace:
    directory = tmp_path_factory.mktemp("api")
    write_token(directory / "api-token")
    place = FaultyPlace(directory)
    faults = 'parked_retry_seconds = 0\nfaults = [{ kind = "refuse", tables = ["db.bad"] }]'
    place.write(more=f'{faults}\n[web]\nport = 0\napi_token_file = "{directory / "api-token"}"\n')
    return place


@pytest.fixture(scope="module")
def running(place: FaultyPlace) -> Iterator[Sidecar]:
    with sidecar(place) as started:
        send(started, create_database(), create("db.bad"), create("db.good"), create("db.bad"))
        wait_for(started, queued=0, parked=2)
        # A parked event is in the journal only after it is in the queue's file.
        wait_until(lambda: place.ask("actions", "--outcome", "parked")["records"], what="the journal")
        started.wait_for_journal()
        yield started


def answered(place: FaultyPlace, running: Sidecar, path: str) -> Any:
    found = re.search(r"web_started.*?http://127\.0\.0\.1:(\d+)/", running.log())
    assert found
    token = Path(place.file.parent / "api-token").read_text().strip()
    seen = PageVisitor(int(found[1])).get(f"/api/v1{path}", Authorization=f"Bearer {token}")
    return seen.code, json.loads(seen.body)


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/targets/try/parked", ["parked", "list", "try"]),
        ("/targets/try/parked?table=db.*&reason=refused", ["parked", "list", "try", "--table", "db.*"]),
        ("/targets/try/parked/2", ["parked", "show", "try", 2]),
        ("/plan?target=try", ["plan", "--target", "try"]),
        ("/why/db.bad", ["why", "db.bad"]),
        ("/actions?outcome=parked", ["actions", "--outcome", "parked"]),
    ],
)
def test_the_api_answers_as_the_command_prints(
    place: FaultyPlace, running: Sidecar, path: str, arguments: list[object]
) -> None:
    assert answered(place, running, path) == (200, place.ask(*arguments))


def test_the_status_has_the_same_keys(place: FaultyPlace, running: Sidecar) -> None:
    code, status = answered(place, running, "/status")
    printed = place.ask("status", code=1)
    for it in (*status["targets"], *printed["targets"]):
        assert it.pop("lag_seconds") > 0, "an event is parked, so it grows between the two"
    assert (code, status.keys(), status["targets"]) == (200, printed.keys(), printed["targets"])


def test_a_refusal_is_the_error_of_the_command(place: FaultyPlace, running: Sidecar) -> None:
    code, refused = answered(place, running, "/tables")
    assert (code, refused) == (400, place.ask("tables", code=2)), "the source is not known here"
