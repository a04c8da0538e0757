"""Source and target accept connections and never answer: each command of the sidecar answers nevertheless."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.control.client import Unanswered, ask
from tests.support.hanging import silent_port
from tests.support.sidecars import Place, Sidecar, pysync_here, sidecar

DR: Mapping[str, Any] = {"target": "dr"}
TABLE: Mapping[str, Any] = {**DR, "table": "db.t"}
ANSWER, REFUSED = True, False
REQUESTS: Mapping[str, tuple[bool, Mapping[str, Any]]] = {
    "status": (ANSWER, {}),
    "actions": (ANSWER, {}),
    "bootstrap": (REFUSED, DR),
    "events": (ANSWER, {}),
    "expect": (REFUSED, {}),
    "held list": (ANSWER, DR),
    "held decide": (REFUSED, {**DR, "names": ["db.t"], "keep": True}),
    "history": (ANSWER, DR),
    "kept list": (ANSWER, DR),
    "kept release": (REFUSED, {**DR, "names": ["db.t"]}),
    "listener remove": (ANSWER, {"instance": "x"}),
    "loads": (ANSWER, {}),
    "names": (REFUSED, {"begin": "d"}),
    "object": (ANSWER, {"object": "db.t"}),
    "parked adopt": (REFUSED, TABLE),
    "parked list": (ANSWER, DR),
    "parked retry": (ANSWER, TABLE),
    "parked show": (REFUSED, {**DR, "position": 1}),
    "parked skip": (ANSWER, TABLE),
    "pause": (ANSWER, DR),
    "plan": (ANSWER, {}),
    "refresh": (REFUSED, {"tables": ["db.t"]}),
    "replay": (REFUSED, {**DR, "first": 1, "last": 2}),
    "replay plan": (REFUSED, {**DR, "first": 1, "last": 2}),
    "resume": (ANSWER, DR),
    "scopes": (ANSWER, {}),
    "tables": (REFUSED, {"look": True}),
    "trash empty": (REFUSED, DR),
    "trash list": (REFUSED, DR),
    "trash restore": (REFUSED, {**DR, "name": "t__1"}),
    "verified": (ANSWER, DR),
    "verify": (ANSWER, DR),
    "wait": (ANSWER, {**DR, "object": "db.t"}),
    "wait end": (ANSWER, {"wait": "x"}),
    "why": (ANSWER, {"table": "db.t"}),
}
"""Every command of the sidecar but `reload`, which starts it anew: whether it has an answer now, and a request."""


class HangingPlace(Place):
    """Source and target hang."""

    def __init__(self, directory: Path, source: int, target: int) -> None:
        self._target = f"thrift://127.0.0.1:{target}"
        super().__init__(directory)
        text = self.file.read_text().replace("[bridge]", f'metastore = "thrift://127.0.0.1:{source}"\n[bridge]')
        self.file.write_text(text)

    def target(self) -> str:
        return f'name = "dr"\nkind = "hms"\nmetastore = "{self._target}"\ndrops = "trash"'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    with ExitStack() as stack:
        ports = [stack.enter_context(silent_port()) for _ in range(2)]
        yield stack.enter_context(sidecar(HangingPlace(tmp_path_factory.mktemp("hanging"), *ports)))


def test_no_command_waits_for_an_end_that_hangs(running: Sidecar) -> None:
    """Before: why, tables, wait of a name, refresh and the trash gave no answer; the page waited for two minutes."""
    with pytest.raises(PysyncError) as unknown:
        ask(running.place.queue, "nothing")
    known = str(unknown.value).partition("known commands: ")[2].split(", ")
    assert {*known} == {*REQUESTS, "reload"}, "a new command: does it ask an end?"

    def answers(command: str) -> bool | str:
        try:
            ask(running.place.queue, command, **REQUESTS[command][1])
        except Unanswered:
            return "no answer"
        except PysyncError:
            return REFUSED
        return ANSWER

    with ThreadPoolExecutor(len(REQUESTS)) as pool:
        found = dict(zip(REQUESTS, pool.map(answers, REQUESTS), strict=True))
    assert found == {name: has_answer for name, (has_answer, _) in REQUESTS.items()}


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("why db.t", ["the source", "target dr"]),
        ("refresh db.t", ["the source"]),
        ("bootstrap --target dr", ["the source"]),
        ("trash list dr", ["target dr"]),
    ],
)
def test_the_end_that_hangs_is_named(running: Sidecar, line: str, ends: list[str]) -> None:
    done = pysync_here(*line.split(), "-c", running.place.file)
    text = " ".join((done.stdout + done.stderr).split())
    assert [it for it in ends if not re.search(f"{it} (did|does) not answer", text)] == [], text


def test_check_waits_for_all_ends_together(running: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 150 s, one after the other."""
    monkeypatch.setattr("pysync.setup.check._END_SECONDS", 0.2)
    done = pysync_here("check", "-c", running.place.file, "--json")
    found = {it["what"]: it["detail"] for it in json.loads(done.stdout)}
    assert [found[it] for it in ("source metastore", "target dr")] == [
        f"{it} did not answer within 0.2 s" for it in ("source metastore", "target dr")
    ]


ALONE: Mapping[str, list[str]] = {
    "verify": ["the source", "target dr"],
    "plan --scope": ["the source", "target dr"],
    "bootstrap": ["the source", "target dr"],
    "dump {directory}/dump": ["the source"],
    "repl {statement} --root {directory}": ["the source"],
    "promote dr --out {directory}/out.toml --yes": ["the source", "target dr"],
    "trash list dr": ["target dr"],
    "trash restore dr t__1": ["target dr"],
}
"""The commands that ask source or target by themselves where no sidecar runs, and the ends that they ask first."""


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place whose ends hang, without a sidecar."""
    with ExitStack() as stack:
        ports = [stack.enter_context(silent_port()) for _ in range(2)]
        place = HangingPlace(tmp_path_factory.mktemp("resting"), *ports)
        place.queue.mkdir(mode=0o700)
        yield place


@pytest.mark.parametrize("line", ALONE)
def test_a_command_without_a_sidecar_says_for_whom_it_waits_and_ends(
    resting: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Before: 31 to 121 s, and no word until then."""
    monkeypatch.setattr("pysync.cli.ends._SECONDS", 0.2)
    monkeypatch.setattr("pysync.cli.ends._SILENT_SECONDS", 0.1)
    words = [it.format(directory=tmp_path, statement="REPL DUMP db") for it in line.split()]
    done = pysync_here(*words, "-c", resting.file)
    text = " ".join(done.stderr.split())
    assert (done.returncode, f"waiting for {' and '.join(ALONE[line])}" in text) == (1, True), text
    assert f"{ALONE[line][0]} did not answer within 0.2 s" in text
