"""Requests of the control socket: whatever their arguments are, they are answered or refused in a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.config import load_config
from pysync.parts import ALL_PARTS
from pysync.sidecar.sidecar import Sidecar
from tests.support.sidecars import FaultyPlace

KEYS = """\
    target table source_table tables databases reason instance why name as object wait outcome database since until
    limit before after position within older_than hours event_id hold from to from_time to_time
    seen consistent act named
""".split()  # noqa: SIM905 - a table of words
VALUES = [None, True, 0, -1, 5, 1.5, 10**30, float("inf"), float("nan"), "", "x", "a.b", "\x00", "😀" * 9, [], [None]]
VALUES += [[[]], [{}], ["a.b"], ["x"], {}, {"a": 1}, {"target": 5}, {"target": "try", "to": []}, "try", "9" * 5000]


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """One that is not started: it answers, and has nothing to apply."""
    place = FaultyPlace(tmp_path_factory.mktemp("sidecar"))
    sidecar = Sidecar(load_config(place.file), ALL_PARTS, bridge=False)
    sidecar.queue.target("try").register()
    yield sidecar
    sidecar.stop()


def requests() -> Iterator[dict[str, Any]]:
    yield {}
    for key in KEYS:
        for value in VALUES:
            for common in ({}, {"target": "try"}, {"target": "try", "table": "a.b", "object": "a.b", "from": 1}):
                yield {**common, "within": 0, key: value}


def wrong_of(sidecar: Sidecar, name: str) -> set[str]:
    """What the command does but answer, or refuse in a line."""
    found = set[str]()
    for request in requests():
        try:
            json.dumps(sidecar.answers[name](request))
        except PysyncError as error:
            if len(str(error).splitlines()) > 1 or len(str(error)) > 2000:
                found.add(f"{request!r:.200}: {error}")
        except Exception as error:
            found.add(f"{request!r:.200}: {type(error).__name__}: {error}")
    return found


NAMES = """
    actions | bootstrap | events | held decide | held list | history | kept list | kept release | listener remove |
    loads | names | object | parked adopt | parked list | parked retry | parked show | parked skip | pause | plan |
    refresh | replay | replay plan | resume | scopes | tables | trash empty | trash list | trash restore | verified |
    verify | wait | wait end | why
"""
COMMANDS = [name.strip() for name in NAMES.split("|")]


def test_every_command_is_tried(sidecar: Sidecar) -> None:
    assert set(COMMANDS) >= set(sidecar.answers) - {"reload", "expect", "status"}


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_of_any_type_are_answered_or_refused(
    sidecar: Sidecar, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysync.sidecar.parked.RELEASE_SECONDS", 0.0)  # no drain runs that would release anything
    assert sorted(wrong_of(sidecar, name))[:5] == []
