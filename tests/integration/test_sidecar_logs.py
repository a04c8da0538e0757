"""What a real `pysync run` writes to standard error: JSON and nothing else, or lines that a person can read."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import wait_until
from tests.support.drains import create
from tests.support.sidecars import Place, assert_one_line, pysync, send, sidecar

JSON = '[log]\nformat = "json"\n'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write(more=JSON)
    return made


@pytest.fixture
def taken_port() -> Iterator[int]:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def lines(text: str) -> list[dict[str, Any]]:
    """Every line is an object, or this fails."""
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_of_a_sidecar_is_json_and_tells_what_it_is_about(place: Place) -> None:
    with sidecar(place) as running:
        send(running, create("db.t"))
        wait_until(lambda: "target_unavailable" in running.log(), what="the target being away")
        assert running.stop() == 0
    reported = {it["event"]: it for it in lines(running.log())}
    assert reported["gap_opened"]["reason"] == "target dr is new: pysync compares it with the source"
    assert (reported["listener_connected"]["source"], reported["target_unavailable"]["target"]) == ("onprem", "dr")
    assert list(reported["target_unavailable"]) == ["timestamp", "level", "event", "target", "attempt", "reason"]
    assert list(reported)[-1] == "sidecar_stopped"


def test_a_start_that_is_refused_ends_with_a_json_line_too(place: Place) -> None:
    place.token.unlink()
    done = pysync("run", "-c", place.file)
    (line,) = lines(done.stderr)
    assert (done.returncode, done.stdout, line["event"], line["level"]) == (2, "", "sidecar_failed", "error")
    assert (f"{place.token} does not exist" in line["reason"], "pysync token" in line["hint"]) == (True, True)


def test_a_port_that_is_taken_ends_it_with_a_json_line_after_the_others(place: Place, taken_port: int) -> None:
    place.write(port=taken_port, more=JSON)
    done = pysync("run", "-c", place.file)
    reported = lines(done.stderr)
    assert (done.returncode, [it["event"] for it in reported]) == (1, ["sidecar_stopped", "sidecar_failed"])
    assert str(taken_port) in reported[-1]["reason"]


def test_for_a_person_a_refusal_stays_a_line_to_read(place: Place, taken_port: int) -> None:
    place.write(port=taken_port)
    assert_one_line(pysync("run", "-c", place.file), 1, str(taken_port), "ss -ltnp")
