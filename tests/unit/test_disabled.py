"""A disabled target: it gets nothing, keeps its place, and is nobody's problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import problems
from pysync.cli.comparison_wait import wait_for
from pysync.cli.output import chosen
from pysync.cli.status_text import is_late
from pysync.config import load_config, load_partial
from pysync.lab.faulty import FaultySettings
from pysync.queue import EventQueue
from pysync.resync.rescoping import compare_scope, stored_scope
from pysync.setup.check import check_config
from pysync.sidecar.status import _gap
from pysync.web.views.overview import state_of
from pysync.web.views.tones import IDLE, tone_of_target
from tests.support.drains import create, create_database
from tests.unit.test_verdict import GRACE, NOW, a_status, target

CONF = """
[source]
name = "onprem"
[bridge]
token_file = "{directory}/token"
[queue]
directory = "{directory}/queue"
min_free_mb = 0
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://127.0.0.1:1"
enabled = false
"""


@pytest.fixture
def off(benches: Any) -> Any:
    bench = benches()
    bench.settings = bench.settings.model_copy(update={"enabled": False})
    return bench


def test_its_drain_opens_nothing_and_its_events_wait(off: Any) -> None:
    off.append(create_database(), create("db.t"))
    drain = off.start()
    assert not drain.worker.started
    assert (off.status()["state"], off.position(), off.target.applied) == ("disabled", 0, [])
    assert off.name in off.queue.positions(), "registered, it holds back trimming"
    assert off.queue.trim(retain_seconds=0, seconds=1) == 0
    for refused in (drain.retry, drain.skip):
        with pytest.raises(PysyncError, match=f"pysync target enable {off.name}"):
            refused()
    drain.pause("mine")
    assert drain.paused() is not None
    assert drain.resume() is not None
    off.stop()
    off.settings = off.settings.model_copy(update={"enabled": True})
    off.run()
    assert (off.position(), sorted(off.target.positions())) == (2, [1, 2])


def test_it_is_no_problem_whatever_waits_or_is_parked_there() -> None:
    paused = {"reason": "x", "at": NOW}
    off = target(state="disabled", parked=3, paused=paused)
    assert problems(a_status(targets=[off]), GRACE, NOW) == []
    assert len(problems(a_status(targets=[{**off, "state": "paused"}]), GRACE, NOW)) == 2


def test_the_page_and_the_status_show_it_as_at_rest() -> None:
    off = {"name": "dr", "state": "disabled", "paused": {"reason": "x"}, "parked": 3, "lag_seconds": 10**6}
    assert (state_of(off), tone_of_target(off), is_late(off)) == ("disabled", IDLE, False)
    assert is_late({**off, "state": "running"})


@pytest.mark.parametrize("enabled", [True, False])
def test_a_change_of_its_scope_waits_until_it_is_enabled(tmp_path: Path, enabled: bool) -> None:
    with EventQueue(tmp_path, min_free_bytes=0) as queue:
        queue.target("dr").register()
        compare_scope(queue, FaultySettings(name="dr", kind="faulty"))
        changed = FaultySettings(name="dr", kind="faulty", include=("a",), enabled=enabled)
        assert compare_scope(queue, changed) is enabled
        kept = stored_scope(queue, "dr")
        assert kept is not None
        assert (len(queue.gaps.unclosed()), "include" in kept.scope) == (int(enabled), enabled)


def test_an_open_gap_of_its_scope_waits_for_it_and_is_no_problem(tmp_path: Path) -> None:
    with EventQueue(tmp_path, min_free_bytes=0) as queue:
        queue.gaps.open("scope:dr:epoch:1", "the scope of dr has changed")
        (gap,) = queue.gaps.latest()
        assert [_gap(gap, off)["state"] for off in ([], ["other"], ["dr"])] == ["open", "open", "closing"]


def test_check_does_not_connect_to_it(tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    file.write_text(CONF.format(directory=tmp_path))
    found = next(it for it in check_config(load_partial(file)) if it.what == "target dr")
    assert (found.ok, found.detail) == (True, "disabled; it was not asked")


def test_commands_about_all_targets_leave_it_out(tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    file.write_text(CONF.format(directory=tmp_path) + '[[targets]]\nname = "on"\nkind = "faulty"\n')
    targets = load_config(file).targets
    assert [it.name for it in chosen(file, None, targets)] == ["on"]
    assert [it.name for it in chosen(file, "dr", targets)] == ["dr"]
    with pytest.raises(UsageError, match="are disabled"):
        chosen(file, None, targets[:1])
    with pytest.raises(UsageError, match="no target 'nobody'"):
        chosen(file, "nobody", targets)


def test_who_waits_for_a_refresh_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.cli.comparison_wait._POLL_SECONDS", 0.01)
    monkeypatch.setattr("pysync.cli.comparison_wait._PATIENCE_SECONDS", 0.05)
    gap = {"reason": "comparison of all", "state": "closing", "upto": 9}
    off = {**target(state="disabled", parked=1), "position": 1, "queued": 8}
    on = {**target(name="on"), "position": 9, "queued": 0}
    wait_for(lambda *_: {"gaps": [gap], "targets": [off, on]}, "comparison of all", lambda _: None)
