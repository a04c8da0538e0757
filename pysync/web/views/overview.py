"""The overview: the way of a change as a picture, a verdict, and what needs attention first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.health import Problem, is_full, refused_events
from pysync.base.text import ago, count, duration, number, size
from pysync.web.views.tones import BAD, GOOD, IDLE, WARN, tone_of_state, tone_of_target, worst_tone
from pysync.web.words import segment

Status = Mapping[str, Any]

_TONES = {"critical": BAD, "warning": WARN}
_PLACES = {
    "events_parked": ("/targets/{target}/parked", "look at what is parked"),
    "drops_held": ("/targets/{target}", "look at what is held"),
    "target_paused": ("/targets/{target}", "look at its plan"),
    "drift": ("/verify", "look at what differs"),
}
"""Where to look at problems of these codes. The others of a target lead to its own page."""


@dataclass(frozen=True, slots=True)
class Need:
    """A problem, where to look at it, and the command that helps, if one does."""

    text: str
    tone: str
    link: str = ""
    label: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class StageView:
    """A box of the picture: one figure that matters, and the facts below it."""

    title: str
    tone: str
    state: str
    figure: str
    unit: str
    facts: tuple[tuple[str, str], ...]
    link: str = ""


@dataclass(frozen=True, slots=True)
class CountedProblem:
    """How much of something there is at a target, and where to look at it."""

    name: str
    value: str
    tone: str
    link: str


@dataclass(frozen=True, slots=True)
class TargetCounts:
    """A line of the summary; `numbers` are the same for each target."""

    name: str
    tone: str
    state: str
    link: str
    numbers: tuple[CountedProblem, ...]


@dataclass(frozen=True, slots=True)
class ReceiverLine:
    """A receiver of webhooks: its name, the state of its worker, and when its server answered last."""

    name: str
    tone: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The page's content."""

    tone: str
    verdict: str
    counts: tuple[TargetCounts, ...]
    needs: tuple[Need, ...]
    stages: tuple[StageView, ...]  # source, spool, queue
    targets: tuple[StageView, ...]
    receivers: tuple[ReceiverLine, ...]


def overview(status: Status, now: float) -> Overview:
    """What `/` shows of the status at the time `now`, in seconds since 1970."""
    problems = Problem.read(status)
    needs = sorted(map(need, problems), key=lambda it: it.tone != BAD)
    attention = f"{count(len(needs), 'problem')} need{'s' if len(needs) == 1 else ''} attention"
    return Overview(
        tone=worst_tone(it.tone for it in needs),
        verdict=attention if needs else "All is well",
        counts=tuple(target_counts(it, problems) for it in status.get("targets") or ()),
        needs=tuple(needs),
        stages=(source_stage(status, now), spool_stage(status, now), queue_stage(status)),
        targets=tuple(target_stage(it, _gaps(status, it["name"]), problems) for it in status.get("targets") or ()),
        receivers=tuple(receiver_line(it, status, now) for it in status.get("receivers") or ()),
    )


def target_counts(target: Status, problems: Sequence[Problem] = ()) -> TargetCounts:
    """How a target stands in numbers: what a person has to decide about first."""
    link = f"/targets/{segment(target['name'])}"
    drift = (target.get("verify") or {}).get("drift")
    held, late = (target.get("brake") or {}).get("drops") or 0, _is_late(target, problems)

    def counted(name: str, number_: int | None, tone: str, at: str) -> CountedProblem:
        value = "-" if number_ is None else number(number_)
        return CountedProblem(name, value, tone if number_ else "", at if number_ else "")

    return TargetCounts(
        name=target["name"],
        tone=_worst_of(target, problems),
        state=state_of(target),
        link=link,
        numbers=(
            counted("held", held, BAD, link),
            counted("parked", refused_events(target), BAD, f"{link}/parked"),
            counted("drifted", drift, BAD, "/verify"),
            counted("kept", target.get("kept") or 0, WARN, link),
            counted("queued", target["queued"], WARN if late else "", link),
            CountedProblem("behind", duration(target.get("lag_seconds")), WARN if late else "", link if late else ""),
        ),
    )


def _is_late(target: Status, problems: Sequence[Problem]) -> bool:
    codes = {it.code for it in problems if it.target == target["name"]}
    return target["state"] != "running" or "target_behind" in codes


def _worst_of(target: Status, problems: Sequence[Problem]) -> str:
    """The tone of a target and of its problems."""
    return worst_tone(
        [tone_of_target(target), *(_TONES[it.severity] for it in problems if it.target == target["name"])]
    )


def need(problem: Problem) -> Need:
    """A problem of the status with the page that shows it, and the command that helps."""
    link, label = _PLACES.get(problem.code, ("/targets/{target}", "look at it")) if problem.target else ("", "")
    link = link.format(target=segment(problem.target))
    return Need(problem.text, _TONES[problem.severity], link, label, problem.hint)


def source_stage(status: Status, now: float) -> StageView:
    """What comes from the source, and when something came last."""
    instances = status.get("instances") or ()
    last = max((it["last_at"] for it in instances), default=None)
    facts = [
        ("last change", "none yet" if last is None else ago(last, now)),
        ("changes received", number(sum(it["received"] for it in instances))),
    ]
    if (contact := status.get("source_last_contact")) is not None:
        facts.append(("last contact", ago(contact, now)))
    log = status.get("notification_log")
    if log:
        facts.append(("captured by", "notification log"))
        return StageView(_title(status), tone_of_state(log["state"]), log["state"], "1", "log is read", tuple(facts))
    listeners = status.get("listeners") or ()
    silent = sum(it["state"] == "silent" for it in listeners)
    reporting = len(listeners) - silent
    if silent:
        facts.append(("lost listeners", number(silent)))
    tone, state = (WARN, "lost") if silent else (GOOD, "heard") if reporting else (WARN, "nobody reports")
    return StageView(
        _title(status), tone, state, number(reporting), "listener" if reporting == 1 else "listeners", tuple(facts)
    )


def spool_stage(status: Status, now: float) -> StageView:
    """What waits at the listeners, and since when."""
    listeners = status.get("listeners") or ()
    waiting = sum(it.get("waiting_events") or 0 for it in listeners)
    held = sum(it.get("waiting_bytes") or 0 for it in listeners)
    since = min((it["waiting_since"] for it in listeners if it.get("waiting_since") is not None), default=None)
    lost = sum(it.get("lost") or 0 for it in listeners)
    facts = [("oldest", "none" if since is None else ago(since, now)), ("size", size(held))]
    if lost:
        facts.append(("lost events", number(lost)))
    if status.get("notification_log"):
        return StageView("Spool", IDLE, "not used", "-", "", (("why", "the log is polled"),))
    tone, state = (WARN, "delivering") if held else (GOOD, "empty")
    return StageView("Spool", BAD if lost else tone, state, number(waiting), "waiting", tuple(facts))


def queue_stage(status: Status) -> StageView:
    """What waits for the slowest target, and the room on the disk."""
    queue = status["queue"]
    waiting = max((it["queued"] for it in status.get("targets") or ()), default=0)
    missing = sum(last - first + 1 for it in status.get("instances") or () for first, last in it["missing"])
    gaps = _gaps(status, None)
    facts = [("kept", count(queue["events"], "event")), ("free on disk", size(queue["free_bytes"]))]
    if missing:
        facts.append(("missing", count(missing, "event")))
    if gaps:
        facts.append(("gaps", ", ".join(sorted({it["state"] for it in gaps}))))
    tone, state = (BAD, "full") if is_full(queue) else (WARN, "gap") if gaps else (GOOD, "takes events")
    return StageView("Queue", tone, state, number(waiting), "for the slowest target", tuple(facts))


def receiver_line(receiver: Status, status: Status, now: float) -> ReceiverLine:
    """A receiver of webhooks; its worker waits while its server does not answer."""
    name, contact = f"notify-{receiver['name']}", receiver.get("last_contact")
    state = next((it["state"] for it in status.get("workers") or () if it["name"] == name), "starting")
    last = "no contact yet" if contact is None else f"last contact {ago(contact, now)}"
    text = f"{last}, {number(receiver['behind'])} not sent yet"
    return ReceiverLine(receiver["name"], tone_of_state(state), state, text)


def _gaps(status: Status, target: str | None) -> list[Status]:
    """The gaps that are not closed and concern this target alone; None: all targets."""
    return [it for it in status.get("gaps") or () if it["state"] != "closed" and it.get("target") == target]


def target_stage(target: Status, gaps: Sequence[Status] = (), problems: Sequence[Problem] = ()) -> StageView:
    """A target: how far it is behind, what waits and what is parked; `gaps` are those that concern it alone.

    It has the tone of the worst of its `problems`, too.
    """
    verified = target.get("verify")
    drift = "not compared" if not verified else count(verified["drift"], "object") if verified["drift"] else "none"
    recent = (target.get("latency") or {}).get("recent") or {}
    facts = [("queued", number(target["queued"])), ("parked", number(refused_events(target))), ("drift", drift)]
    if recent.get("p99") is not None:
        facts.append(("latency p99", duration(recent["p99"])))
    if gaps:
        facts.append(("gaps", ", ".join(sorted({it["state"] for it in gaps}))))
    link = f"/targets/{segment(target['name'])}"
    return StageView(
        target["name"],
        worst_tone([_worst_of(target, problems), *(WARN for _ in gaps[:1])]),
        state_of(target),
        duration(target.get("lag_seconds")),
        "behind",
        tuple(facts),
        link,
    )


def state_of(target: Status) -> str:
    """The state in words; of one that runs also what is wrong with it."""
    if target.get("paused") and target["state"] != "disabled":
        return "paused"
    if target.get("brake") and target["state"] == "running":
        return "running, drops held"
    if target["state"] != "running":
        return str(target["state"])
    wrong = (
        "some parked" if refused_events(target) else "has drifted" if (target.get("verify") or {}).get("drift") else ""
    )
    return f"running, {wrong}" if wrong else "running"


def _title(status: Status) -> str:
    return str(status["source"])
