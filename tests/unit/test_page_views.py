"""What the page shows of what the sidecar answers, without a browser: the overview and a target."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.base.health import Problem, problems
from pysync.web.views.hold import MOST_NAMES
from pysync.web.views.overview import Need, need, overview, state_of
from pysync.web.views.target import target_view
from pysync.web.views.tones import (
    BAD,
    GOOD,
    IDLE,
    OUTCOMES,
    WARN,
    tone_of_outcome,
    tone_of_state,
    tone_of_target,
    worst_tone,
)
from tests.support.pages import NOW, a_history, a_plan, a_status, a_target, held_objects, holding, in_trouble, listener


def test_all_is_well() -> None:
    view = overview(a_status(), NOW)
    assert (view.tone, view.verdict, view.needs) == (GOOD, "All is well", ())
    assert [it.title for it in view.stages] == ["onprem", "Spool", "Queue"]
    assert [(it.title, it.tone, it.state, it.figure) for it in view.targets] == [
        ("dr", GOOD, "running", "0 s"),
        ("lake", GOOD, "running", "0 s"),
    ]


def test_what_needs_a_hand_comes_first_what_is_worst_at_the_top() -> None:
    view = overview(in_trouble(), NOW)
    assert (view.tone, view.verdict) == (BAD, "6 problems need attention")
    assert [it.tone for it in view.needs] == [BAD, WARN, WARN, WARN, WARN, WARN]
    assert [it.command for it in view.needs[:2]] == [
        "pysync check",
        "pysync listener remove 7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e",
    ]
    links = {it.link for it in view.needs}
    assert links == {"", "/targets/dr", "/targets/lake/parked", "/targets/archive", "/verify"}


def test_each_target_is_told_in_numbers_with_the_way_to_what_they_count() -> None:
    dr, lake, archive = overview(in_trouble(), NOW).counts
    assert [it.name for it in dr.numbers] == ["held", "parked", "drifted", "kept", "queued", "behind"]
    assert [(it.value, it.tone, it.link) for it in lake.numbers[:3]] == [
        ("0", "", ""),
        ("1,004", BAD, "/targets/lake/parked"),
        ("3", BAD, "/verify"),
    ]
    assert [(it.name, it.tone, it.state) for it in (dr, archive)] == [
        ("dr", WARN, "paused"),
        ("archive", BAD, "waiting"),
    ]
    assert [(it.value, it.tone) for it in archive.numbers[2:]] == [
        ("-", ""),
        ("0", ""),
        ("9,120", WARN),
        ("42m 3s", WARN),
    ]
    held, parked, *_ = overview(holding(), NOW).counts[0].numbers
    assert (held.value, held.tone, held.link) == ("41", BAD, "/targets/dr")
    assert (parked.value, parked.link) == ("3", "/targets/dr/parked"), "without what is held"


def test_one_thing_needs_a_hand() -> None:
    assert (
        overview(a_status(gaps=[{"state": "open", "reason": "x", "target": None}]), NOW).verdict
        == "1 problem needs attention"
    )


@pytest.mark.parametrize(
    ("problem", "link", "label"),
    [
        (Problem("queue_full", "critical", "the queue takes no events", hint="df -h"), "", ""),
        (Problem("gap_open", "warning", "a gap is open: x"), "", ""),
        (Problem("target_paused", "warning", "it is paused", target="dr"), "/targets/dr", "look at its plan"),
        (Problem("worker_failing", "critical", "it fails", target="dr"), "/targets/dr", "look at it"),
        (
            Problem("events_parked", "warning", "two are parked", target="a.b-c", hint="pysync parked list a.b-c"),
            *("/targets/a.b-c/parked", "look at what is parked"),
        ),
    ],
)
def test_a_problem_is_shown_with_its_place_and_the_command_that_helps(problem: Problem, link: str, label: str) -> None:
    tone = BAD if problem.severity == "critical" else WARN
    assert need(problem) == Need(problem.text, tone, link, label, problem.hint)


def test_every_problem_of_the_verdict_leads_somewhere() -> None:
    status: dict[str, Any] = in_trouble()
    status["queue"]["free_bytes"] = 0
    status["workers"] = [{"name": "bootstrap", "state": "failing", "waiting_since": None, "last_error": None}]
    status["bridge"] |= {"refused_last_at": NOW, "refused_connections": 3}
    status["listeners"].append(listener(waiting_since=NOW - 1000, waiting_bytes=9))
    found = [need(it) for it in problems(status, 300, NOW)]
    assert len(found) == 10
    assert [it.text for it in found if not (it.command or it.link or it.text.startswith("a gap"))] == []


def test_a_lost_listener_shows_at_the_source_and_what_it_holds_in_the_spool() -> None:
    source, spool, _ = overview(in_trouble(), NOW).stages
    assert (source.tone, source.state, source.figure) == (WARN, "lost", "0")
    assert (spool.tone, spool.figure, spool.unit) == (WARN, "310", "waiting")
    assert ("oldest", "5m 5s ago") in spool.facts


def test_a_target_is_as_urgent_as_the_worst_of_its_problems() -> None:
    tones = {it.title: it.tone for it in overview(in_trouble(), NOW).targets}
    assert tones == {"dr": WARN, "lake": WARN, "archive": BAD}, "archive has been away for longer than the grace"


def test_the_source_has_its_last_contact_once_there_was_one() -> None:
    facts = [dict(overview(a_status(source_last_contact=at), NOW).stages[0].facts) for at in (None, NOW - 7)]
    assert [it.get("last contact") for it in facts] == [None, "7 s ago"]


@pytest.mark.parametrize(
    ("at", "state", "tone", "text"),
    [
        (None, "starting", IDLE, "no contact yet, 40 not sent yet"),
        (NOW - 6, "running", GOOD, "last contact 6 s ago, 40 not sent yet"),
        (NOW - 90, "waiting", WARN, "last contact 1m 30s ago, 40 not sent yet"),
    ],
)
def test_a_receiver_has_its_last_contact(at: float | None, state: str, tone: str, text: str) -> None:
    receiver = {"name": "hook", "delivered": 12, "failed": 3, "skipped": 1, "behind": 40, "last_contact": at}
    workers = [{"name": "notify-hook", "state": state, "waiting_since": None, "last_error": None}]
    (line,) = overview(a_status(receivers=[receiver], workers=workers), NOW).receivers
    assert (line.name, line.tone, line.state, line.text) == ("hook", tone, state, text)


def test_lost_events_are_told() -> None:
    spool = overview(a_status(listeners=[listener(lost=3)]), NOW).stages[1]
    assert (spool.tone, dict(spool.facts)["lost events"]) == (BAD, "3")


def test_a_full_disk_a_gap_and_missing_events_show_at_the_queue() -> None:
    status = a_status(gaps=[{"state": "closing"}, {"state": "closed"}])
    status["instances"][0]["missing"] = [[3, 4], [9, 9]]
    queue = overview(status, NOW).stages[2]
    assert (queue.tone, dict(queue.facts)["gaps"], dict(queue.facts)["missing"]) == (WARN, "closing", "3 events")
    status["queue"]["free_bytes"] = 5
    assert overview(status, NOW).stages[2].state == "full"


def test_a_gap_is_amber_only_at_what_it_concerns() -> None:
    gap = {"state": "closing", "reason": "lake is new", "target": "lake"}
    view = overview(a_status(gaps=[gap]), NOW)
    assert view.stages[2].tone == GOOD, "the queue"
    assert [(it.title, it.tone, dict(it.facts).get("gaps")) for it in view.targets] == [
        ("dr", GOOD, None),
        ("lake", WARN, "closing"),
    ]
    assert [it.gaps for it in (target_view(a_target(name), [gap], None, None, NOW) for name in ("dr", "lake"))] == [
        (),
        (gap,),
    ]


@pytest.mark.parametrize(
    ("state", "obstacle", "tone", "words"),
    [
        ("running", None, GOOD, "events 2 to 9: 10 of 40 objects refreshed; 5 objects/s, 6.0 s left"),
        ("waiting", "away", WARN, "events 2 to 9: 10 of 40 objects refreshed; 5 objects/s, 6.0 s left; waiting: away"),
        ("failed", "gone", BAD, "events 2 to 9: 10 of 40 objects refreshed; failed: gone"),
    ],
)
def test_a_resync_says_what_it_is_of_how_far_how_fast_and_until_when(
    state: str, obstacle: str | None, tone: str, words: str
) -> None:
    row: dict[str, Any] = {"trigger": "log_schemas", "reason": "events 2 to 9", "state": state, "obstacle": obstacle}
    row |= {"done": 10, "total": 40, "per_second": 5.0, "seconds_left": None if state == "failed" else 6.0}
    (shown,) = target_view(a_target("dr", resyncs=[{**row, "began_at": NOW}]), (), None, None, NOW).resyncs
    assert (shown.trigger, shown.tone, shown.state, shown.text) == ("log schemas", tone, state, words)


def test_without_a_listener_the_log_is_shown() -> None:
    log = {"instance": "x", "position": 4, "state": "waiting", "counts": {}, "last_error": None, "refused_since": None}
    source, spool, _ = overview(a_status(notification_log=log, bridge=None, listeners=[]), NOW).stages
    assert (source.tone, source.state, ("captured by", "notification log") in source.facts) == (WARN, "waiting", True)
    assert (spool.state, spool.tone) == ("not used", IDLE)


def test_a_sidecar_to_which_nothing_has_come_yet() -> None:
    source, _, queue = overview(a_status(listeners=[], instances=[], targets=[]), NOW).stages
    assert (source.tone, source.state, dict(source.facts)["last change"]) == (WARN, "nobody reports", "none yet")
    assert queue.figure == "0"


def test_a_target_has_the_tone_of_the_worst_of_it() -> None:
    assert tone_of_target(a_target("dr")) == GOOD
    assert tone_of_target(a_target("dr", parked=1)) == WARN
    assert tone_of_target(a_target("dr", verify={"drift": 1})) == WARN
    assert tone_of_target(a_target("dr", paused={"reason": "x", "at": 1})) == WARN
    assert tone_of_target(a_target("dr", state="failing", parked=1)) == BAD
    assert worst_tone([]) == GOOD


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "running"),
        ({"parked": 2, "verify": {"drift": 1}}, "running, some parked"),
        ({"verify": {"drift": 1}}, "running, has drifted"),
        ({"paused": {"reason": "x", "at": 1}, "state": "running"}, "paused"),
        ({"state": "waiting", "parked": 1}, "waiting"),
        ({"verify": None}, "running"),
    ],
)
def test_the_state_of_a_target_in_words(values: dict[str, Any], text: str) -> None:
    assert state_of(a_target("dr", **values)) == text


@pytest.mark.parametrize("word", ["", "something new"])
def test_a_state_or_outcome_that_is_not_known_is_no_alarm(word: str) -> None:
    assert (tone_of_state(word), tone_of_outcome(word)) == (IDLE, IDLE)


def test_every_outcome_of_the_journal_can_be_chosen() -> None:
    journal = "applied unchanged stale foreign conflict unsupported failed parked waits held kept shadowed done refused"
    assert set(OUTCOMES) == set(journal.split())


def view_of(target: dict[str, Any], **answers: Any) -> Any:
    given = {"history": a_history(), "plan": a_plan("dr"), **answers}
    return target_view(target, in_trouble()["gaps"], given["history"], given["plan"], NOW)


def test_a_target_with_all_that_is_known_of_it() -> None:
    view = view_of(a_target("dr", parked=3))
    assert [(it.name, it.value, it.link) for it in view.figures] == [
        ("behind", "0 s", ""),
        ("queued", "0", ""),
        ("parked", "3", "/targets/dr/parked"),
        ("position", "48,213", ""),
        ("operations a second", "5.2", ""),
        ("last contact", "4 s ago", ""),
    ]
    assert view.latency[0] == ("last 10 minutes", ("210 ms", "600 ms", "1.9 s", "318"))
    assert view.latency[-1] == ("at the target", ("140 ms", "", "2.2 s", ""))
    assert view.calls[0] == ("get_table", "41,020")
    assert view.failures == (("errors: unavailable", "3"), ("retries", "3"), ("waited for them", "12.5 s"))
    assert view.plan.summary == (
        "1,000 events become 32 operations; 412 of them drops (limit: 1000); 3,312 more events wait"
    )
    assert (len(view.plan.lines), view.plan.more) == (12, 20)
    assert [it["state"] for it in view.gaps] == ["open"]


def test_all_that_is_held_is_named_database_by_database() -> None:
    dr = holding()["targets"][0]
    (hr2,) = target_view(dr, (), None, None, NOW, held={"objects": held_objects()}).held
    assert (hr2.database, hr2.objects, hr2.more) == ("hr2", 41, 0)
    assert (hr2.names[0], hr2.names[-1]) == ("database hr2", "table hr2.people_39")
    many = [{"object": f"hr2.t{it}/*", "kind": "partition", "count": 12} for it in range(MOST_NAMES + 1)]
    dr["brake"]["databases"][0]["objects"] = len(many)
    (hr2,) = target_view(dr, (), None, None, NOW, held={"objects": many}).held
    assert (hr2.names[0], len(hr2.names), hr2.more) == ("12 partitions of hr2.t0", MOST_NAMES, 1)
    (unnamed,) = target_view(dr, (), None, None, NOW).held
    assert (unnamed.names, unnamed.more) == ((), len(many))


def test_one_event_becomes_one_operation() -> None:
    plan = a_plan("dr")
    plan["targets"][0] |= {"queued": 2, "events": 1, "operations": 1, "drops": 0}
    assert target_view(a_target("dr"), (), a_history(), plan, NOW).plan.summary == (
        "1 event becomes 1 operation; 1 more event waits"
    )


def test_the_curve_of_the_lag_ends_with_the_lag_that_the_figures_show() -> None:
    view = target_view(a_target("dr", lag_seconds=0.0), (), a_history(), None, NOW)
    assert (view.figures[0].value, view.charts[0].latest) == ("0 s", "0 s")


def test_a_target_of_an_older_sidecar_is_shown_as_far_as_it_is_known() -> None:
    old = a_target("dr")
    for key in ("latency", "calls", "errors", "retries", "backoff_seconds", "rate", "last_contact"):
        del old[key]
    view = view_of(old, history=None, plan=None)
    assert (view.latency, view.worst, view.calls, view.failures, view.plan) == ((), (), (), (), None)
    assert [it.value for it in view.figures[-2:]] == ["not known", "not known"]
    assert all(it.is_empty for it in view.charts)


def test_latency_without_samples_is_a_dash() -> None:
    none = {"p50": None, "p90": None, "p99": None, "count": 0}
    view = view_of(a_target("dr", latency={"recent": none, "day": none, "parts": {}, "worst": []}))
    assert view.latency[0] == ("last 10 minutes", ("-", "-", "-", "0"))


def test_a_target_that_never_failed_has_no_list_of_failures() -> None:
    fine = a_target("dr", errors={"bug": 0, "unavailable": 0}, retries=0, backoff_seconds=0.0)
    assert view_of(fine).failures == ()


def test_kinds_of_errors_are_words_of_people() -> None:
    found = view_of(a_target("dr", errors={"outcome_unknown": 1200}, retries=0)).failures
    assert found == (("errors: outcome unknown", "1,200"),)


def test_a_plan_for_nothing() -> None:
    numbers = dict.fromkeys(("queued", "events", "drops", "operations"), 0)
    empty = {"targets": [{**numbers, "max_drops_per_window": 0, "refused": [], "works": []}]}
    assert view_of(a_target("dr"), plan=empty).plan.summary == "Nothing is to be done."
