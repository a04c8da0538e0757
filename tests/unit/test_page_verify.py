"""What the sidecar keeps of a comparison for the page, and the comparison as one file."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.model.names import TableName
from pysync.queue import EventQueue, note_of
from pysync.replay.progress import DrainState
from pysync.sidecar import verifying
from pysync.sidecar.verifying import MOST_DATABASES, MOST_KEPT, ComparisonSummary, Verifier, stored_result
from pysync.verify.compare import DIFFERENT, EQUAL, MISSING, ComparedObject, Selection
from pysync.verify.report import Report, by_database, numbers_of
from pysync.web.verify_report import verify_html
from tests.support import wait_until
from tests.support.pages import EVIL, LONG, NOW


def compared(name: str, result: str = EQUAL, **values: Any) -> ComparedObject:
    return ComparedObject("table", name, result, source=values.pop("source", name), **values)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[EventQueue]:
    found = EventQueue(tmp_path / "queue", min_free_bytes=0)
    yield found
    found.close()


def verifier(queue: EventQueue, metastore: str | None = "thrift://127.0.0.1:1", every: int = 0) -> Verifier:
    """Of a target that is at rest."""
    config: Any = SimpleNamespace(
        source=SimpleNamespace(metastore=metastore, name="onprem"), verify=SimpleNamespace(every=every)
    )
    progress = SimpleNamespace(state=DrainState.RUNNING)
    drain: Any = SimpleNamespace(name="dr", progress=progress, settings=None, paused=lambda: None)
    return Verifier(config, queue, drain, lambda: True, tables_per_second=1.0)


def test_databases_are_counted_by_their_names_at_the_source() -> None:
    renamed = compared("dr_shop.orders", DIFFERENT, source="shop.orders")
    items = [renamed, compared("shop.a"), compared("crm.b"), ComparedObject("database", "shop", EQUAL, source="shop")]
    assert by_database(numbers_of(items), [renamed]) == [
        {"name": "crm", "objects": 1, "drift": 0},
        {"name": "shop", "objects": 3, "drift": 1},
    ]


def test_what_differed_at_the_first_look_alone_is_counted_as_equal() -> None:
    lag, drift = compared("shop.lag", MISSING), compared("shop.drift", MISSING)
    found = stored_result(numbers_of([lag, drift, compared("shop.fine")]), [lag, drift, compared("shop.fine")], [drift])
    assert found["databases"] == [{"name": "shop", "objects": 3, "drift": 1}]
    assert [it["name"] for it in found["differences"]] == ["shop.drift"]


def test_what_may_differ_is_kept_after_what_must_not() -> None:
    reported = compared("shop.told", DIFFERENT, excuse="drops are suppressed")
    drift = compared("shop.drift", DIFFERENT, fields=("owner: 'a' instead of 'b'",))
    found = stored_result({"shop": 2}, [reported, drift], [drift])["differences"]
    assert [(it["name"], it["drift"], it["excuse"]) for it in found] == [
        ("shop.drift", True, None),
        ("shop.told", False, "drops are suppressed"),
    ]


def test_however_much_differs_what_is_kept_is_bounded() -> None:
    fields = tuple(f"parameters.{at}: {'x' * 10_000!r} instead of 'y'" for at in range(20))
    drift = [compared(f"db_{at}.t", DIFFERENT, fields=fields) for at in range(3 * MOST_KEPT)]
    others = [compared(f"other_{at}.t") for at in range(2 * MOST_DATABASES)]
    found = stored_result(numbers_of([*others, *drift]), [*others, *drift], drift)
    assert (len(found["differences"]), len(found["databases"])) == (MOST_KEPT, MOST_DATABASES)
    assert all(it["drift"] for it in found["databases"][: len(drift)]), "drifted databases are kept first"
    assert len(json.dumps(found)) < 2**21


def test_before_the_first_comparison_only_the_target_is_told(queue: EventQueue) -> None:
    assert verifier(queue).last_result() == {"target": "dr"}


def test_what_an_older_sidecar_has_kept_is_told_without_details(queue: EventQueue) -> None:
    old = {"began_at": 1.0, "ended_at": 2.0, "objects": 3, "drift": 1, "names": ["table a.b"]}
    queue.notes.put(note_of("dr", "verify"), json.dumps(old))
    assert verifier(queue).last_result() == {"target": "dr", **old}
    assert verifier(queue).status() == old


def test_without_a_source_nothing_can_be_asked_for(queue: EventQueue) -> None:
    found = verifier(queue, metastore=None)
    with pytest.raises(PysyncError, match="metastore is not set"):
        found.ask()
    assert not found.worker.started


class Looks:
    """Comparisons that find this, each for its selection."""

    def __init__(self, *found: ComparedObject) -> None:
        self.found = found
        self.selections: list[Selection | None] = []

    def run(self, selection: Selection | None) -> list[ComparedObject]:
        self.selections.append(selection)
        return [it for it in self.found if selection is None or selection.has_table(TableName.parse(it.source))]


def test_what_somebody_else_s_comparison_found_is_looked_at_again_and_kept(
    queue: EventQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(compared("shop.late"), compared("shop.gone", MISSING), compared("crm.a", MISSING))
    monkeypatch.setattr(verifying, "comparison", lambda *_, **__: looks)
    monkeypatch.setattr(verifying, "CLOSE_SECONDS", 0.0)
    queue.target("dr").register()
    found = verifier(queue)
    found.compare_again(ComparisonSummary(10.0, 20.0, {"shop": 7, "crm": 2}, ["shop.late", "shop.gone"]))
    wait_until(lambda: found.status() is not None, what="the result")
    assert found.worker.end(10.0)
    assert looks.selections[0] == Selection.named(["shop.late", "shop.gone"])
    assert found.status() == {
        "began_at": 10.0,
        "ended_at": 20.0,
        "objects": 9,
        "drift": 1,
        "names": ["table shop.gone"],
    }
    assert found.last_result()["databases"] == [
        {"name": "shop", "objects": 7, "drift": 1},
        {"name": "crm", "objects": 2, "drift": 0},
    ]


def reports() -> list[dict[str, Any]]:
    differs = compared(EVIL, DIFFERENT, fields=("owner: '<img src=x>' instead of 'ours'", "and 3 more"))
    report = Report("dr", "hms", [compared("crm.a"), differs, compared(LONG, MISSING)], 1.5)
    return [{**report.as_json(), "databases": by_database(numbers_of(report.compared), report.drift)}]


def test_the_file_needs_nothing_beside_it_and_runs_nothing() -> None:
    page = verify_html("onprem", reports(), NOW)
    assert re.findall(r"<script|<link|<img|<[^>]* src=|@import|url\(|https?:", page) == []
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "--ground: light-dark(" in page
    assert "<style>\n/*" in page


def test_the_file_tells_what_the_report_tells() -> None:
    page = re.sub(r"<wbr>", "", verify_html("onprem", reports(), NOW))
    assert "2 objects drifted" in page
    assert "shop.&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert LONG in page
    assert page.index("&#39;ours&#39;") < page.index("&#39;&lt;img src=x&gt;&#39;"), "the source stands first"


def test_each_tile_of_the_file_leads_to_a_part_that_is_there() -> None:
    page = verify_html("onprem", reports(), NOW)
    links = re.findall(r'href="#([^"]+)"', page)
    targets = [it for it in links if not it.startswith("shape-")]
    assert sorted(targets) == ["dr/shop", "dr/warehouse"]
    assert all(f'id="{it}"' in page for it in targets)


def test_without_drift_the_file_says_so() -> None:
    report = Report("dr", "hms", [compared("crm.a")], 1.5)
    page = verify_html("onprem", [{**report.as_json(), "databases": by_database(numbers_of(report.compared), ())}], NOW)
    assert "no drift" in page
    assert 'href="#dr' not in page


def test_a_clock_that_was_set_back_delays_no_comparison(queue: EventQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next one would begin when the clock has got there again, perhaps in years."""
    queue.target("dr").register()
    queue.notes.put(note_of("dr", "verify"), json.dumps({"began_at": time.time() + 1e8}))
    monkeypatch.setattr(verifying, "comparison", lambda *_, **__: SimpleNamespace(run=lambda _: []))
    made = verifier(queue, every=3600)
    made.start()
    wait_until(lambda: (made.status() or {}).get("objects") == 0, what="the comparison")
    made.worker.stop()
    assert made.worker.join(60)
