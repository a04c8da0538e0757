"""Acts: what signed-in users may do. Each calls the command that the command line calls. Extra `web`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pysync.base.text import count, one_line
from pysync.web.sessions import PageMessage
from pysync.web.site import Fields, Site, back_to, form_of
from pysync.web.views.tones import BAD, GOOD

LISTS = frozenset({"tables", "names"})
"""The fields of which there may be several."""

_DIGITS = 18  # of a position

ActResult = tuple[str, str]
"""A tone, and what the act came to."""

NEEDS_TICK: Mapping[str, str] = {
    **dict.fromkeys(("skip", "skip-selected"), "nothing was skipped"),
    **dict.fromkeys(("adopt", "adopt-selected"), "nothing was adopted"),
    "drop": "nothing was dropped",
}
"""The acts that cannot be undone, and what to say where the box is not ticked."""


@dataclass(frozen=True, slots=True)
class PageAct:
    """What can be done: the command, which fields of the form it takes, and what its answer means.

    `needs` is a field without which it would be done to everything.
    """

    command: str
    fields: tuple[str, ...]
    result: Callable[[Mapping[str, Any]], ActResult]
    needs: str = ""


def _released(answer: Mapping[str, Any]) -> ActResult:
    """What a retry or skip came to."""
    done = [f"{count(answer['skipped'], 'event')} skipped"] if answer["skipped"] else []
    if answer["tried"]:
        done.append(f"{answer['tried'] - answer['left']:,} of {count(answer['tried'], 'event')} applied")
    reason = f": {one_line(str(answer['reason']).splitlines()[-1])}" if answer["reason"] else ""
    if not answer["finished"]:
        return BAD, "; ".join([*done, f"not finished{reason or ': the target does not answer yet'}"])
    if answer["left"]:
        return BAD, "; ".join([*done, f"{count(answer['left'], 'event')} still parked{reason}"])
    return GOOD, "; ".join(done) or "nothing was parked"


def _adopted(answer: Mapping[str, Any]) -> ActResult:
    """What an adoption came to."""
    tone, text = _released(answer)
    refused = [f"{name} was not adopted: {one_line(why)}" for name, why in list(answer["refused"].items())[:1]]
    if answer["more"]:
        refused.append(f"{count(answer['more'], 'table')} left: adopt again")
    return (BAD if refused else tone), "; ".join([f"{count(answer['adopted'], 'table')} adopted", text, *refused])


def _resumed(answer: Mapping[str, Any]) -> ActResult:
    was, name = answer["was"], answer["target"]
    return GOOD, f"{name} is resumed; it was paused: {was}" if was else f"{name} was not paused"


def _decided(answer: Mapping[str, Any]) -> ActResult:
    what = "keeps" if answer["kept"] else "drops"
    return GOOD, f"{answer['target']} {what} {count(len(answer['objects']), 'object')}"


ACTS: Mapping[str, PageAct] = {
    "pause": PageAct("pause", ("target", "reason"), lambda it: (GOOD, f"{it['target']} is paused: {it['paused']}")),
    "resume": PageAct("resume", ("target",), _resumed),
    "keep": PageAct("held decide", ("target", "names", "keep"), _decided),
    "drop": PageAct("held decide", ("target", "names", "seen"), _decided),
    "retry": PageAct("parked retry", ("target", "table", "reason"), _released),
    "skip": PageAct("parked skip", ("target", "table", "position", "reason"), _released),
    "adopt": PageAct("parked adopt", ("target", "table", "reason"), _adopted),
    "retry-selected": PageAct("parked retry", ("target", "tables"), _released, "tables"),
    "skip-selected": PageAct("parked skip", ("target", "tables"), _released, "tables"),
    "adopt-selected": PageAct("parked adopt", ("target", "tables"), _adopted, "tables"),
    "refresh": PageAct("refresh", ("tables",), lambda it: (GOOD, f"started: {it['gap']}"), "tables"),
    "refresh-all": PageAct("refresh", (), lambda it: (GOOD, f"started: {it['gap']}")),
    "verify": PageAct(
        "verify", ("target",), lambda it: (GOOD, f"{it['target']} will be compared as soon as it is at rest")
    ),
}
"""By their names in /acts/NAME."""


class Acts:
    """The handler of all acts: POST, then back to where it came from, where a message says what it came to."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[Route]:
        """Their paths."""
        return [Route("/acts/{act}", self.act, methods=["POST"])]

    async def act(self, request: Request) -> Response:
        """Do it. Refuses visitors who are not signed in, and a form without the session's token."""
        session = self._site.session(request)
        if session is None:
            raise HTTPException(403, "sign in first: your session is over")
        if not self._site.may_act(session):
            raise HTTPException(403, "you may look, but not act: [web] operators does not name you")
        form = await form_of(request)
        # As bytes: compare_digest takes no other text than ASCII.
        if not secrets.compare_digest(form.get("csrf", "").encode(), session.csrf.encode()):
            raise HTTPException(403, "this form is out of date; load the page again")
        act = ACTS.get(request.path_params["act"])
        if act is None:
            raise HTTPException(404, "pysync has no such act")
        tone, text = await run_in_threadpool(self._done, request.path_params["act"], form, f"{session.user} (page)")
        session.messages.append(PageMessage(tone, text))
        return back_to(form.get("back"))

    def _done(self, name: str, form: Fields, who: str) -> ActResult:
        act = ACTS[name]
        if lacks := lacking(name, form):
            return BAD, lacks
        answer = self._site.ask(act.command, **request_for(act, form), who=who)
        return (BAD, f"refused: {answer.problem}") if answer.value is None else act.result(answer.value)


def lacking(name: str, form: Fields) -> str:
    """Why the act is not done as long as the form is as it is; empty if nothing is wrong with that."""
    if ACTS[name].needs and not any(it.strip() for it in form.getlist(ACTS[name].needs)):
        return "nothing is selected"
    if name in NEEDS_TICK and form.get("sure") != "yes":
        return f"{NEEDS_TICK[name]}: tick the box to say that you are sure"
    return ""


def request_for(act: PageAct, form: Fields) -> dict[str, Any]:
    """The command's arguments, of the fields of a form; an empty field is none."""
    values = {key: [it.strip() for it in form.getlist(key) if it.strip()] for key in act.fields}
    request: dict[str, Any] = {key: it if key in LISTS else it[-1] for key, it in values.items() if it}
    for key in request.keys() & {"position", "seen"}:
        if request[key].isascii() and request[key].isdecimal():
            request[key] = int(request[key][:_DIGITS])
    if "keep" in request:
        request["keep"] = request["keep"] == "yes"
    return request
