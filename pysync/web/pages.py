"""The pages. Visitors who are not signed in see counts, and no name of a table. Extra `web`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pysync.web.site import CommandAnswer, Site
from pysync.web.views.actions import FILTERS, differences_of, page_link, request_of
from pysync.web.views.charts import DEFAULT_RANGE, RANGES
from pysync.web.views.feed import MOST_RECORDS, alike_feed, journal_feed
from pysync.web.views.overview import overview
from pysync.web.views.parked import parked_page, parked_row
from pysync.web.views.table import table_view
from pysync.web.views.tables import FILTERS as TABLE_FILTERS
from pysync.web.views.tables import SORTS, TONES, filter_of, tables_page, tables_request
from pysync.web.views.target import target_view
from pysync.web.views.tones import BAD, OUTCOMES
from pysync.web.views.translations import translations_page
from pysync.web.views.verify import VerifyView, of_database, verify_view
from pysync.web.words import segment

_RECENT = 10
SUGGESTED = 10
"""Names that the search suggests at most."""


class Pages:
    """The handlers of GET. Each asks the sidecar again, in a thread of its own."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[Route]:
        """Their paths."""
        return [
            Route("/", self.overview),
            Route("/targets/{target}", self.target),
            Route("/targets/{target}/parked", self._signed_in(self.parked)),
            Route("/targets/{target}/parked/{table:path}", self._signed_in(self.parked_table)),
            Route("/actions", self._signed_in(self.actions)),
            Route("/tables", self._signed_in(self.tables)),
            Route("/suggestions", self._signed_in(self.suggestions)),
            Route("/tables/{table:path}", self._signed_in(self.table)),
            Route("/verify", self._signed_in(self.verify)),
            Route("/verify/{target}/{database:path}", self._signed_in(self.verify_database)),
            Route("/views", self._signed_in(self.views)),
        ]

    def overview(self, request: Request) -> Response:
        """The way of a change, and what needs attention."""
        status = self._site.status()
        view = overview(status, self._site.clock())
        recent = self._site.ask("actions", limit=MOST_RECORDS, notable=True) if self._site.session(request) else None
        feed = alike_feed(recent.value["records"] if recent and recent.value else (), _RECENT)
        return self._site.render(request, "overview.html", view=view, source=status["source"], recent=feed)

    def target(self, request: Request) -> Response:
        """One target."""
        name, status = request.path_params["target"], self._site.status()
        target = self._target(status, name)
        chosen = request.query_params.get("range", "")
        chosen = chosen if chosen in RANGES else DEFAULT_RANGE
        history = self._site.ask("history", target=name, hours=RANGES[chosen])
        # It reads a window of events: not for everybody who reaches the port.
        plan = (
            self._site.ask("plan", target=name)
            if self._site.session(request)
            else CommandAnswer(None, "sign in to see it")
        )
        shows_names = target.get("brake") and self._site.session(request)
        held = self._site.ask("held list", target=name) if shows_names else CommandAnswer(None)
        view = target_view(
            target,
            status.get("gaps") or (),
            history.value,
            plan.value,
            self._site.clock(),
            hours=RANGES[chosen],
            held=held.value,
        )
        values: dict[str, Any] = {"view": view, "history": history, "plan": plan, "ranges": RANGES, "range": chosen}
        return self._site.render(request, "target.html", **values)

    def parked(self, request: Request) -> Response:
        """What a target refused, table by table."""
        name = request.path_params["target"]
        self._target(self._site.status(), name)
        answer = self._site.ask("parked list", target=name)
        page = parked_page(name, answer.value, request.query_params) if answer.value else None
        return self._site.render(
            request, "parked.html", target=name, page=page, problem=answer.problem, q=request.query_params.get("q", "")
        )

    def parked_table(self, request: Request) -> Response:
        """What is parked of one table: the first event, why, and what differs; retry and skip."""
        name, table = request.path_params["target"], request.path_params["table"]
        self._target(self._site.status(), name)
        answer = self._site.ask("parked list", target=name)
        tables = [it for it in (answer.value or {}).get("tables", ()) if it["table"] == table]
        row = parked_row(name, tables[0]) if tables else None
        event = self._site.ask("parked show", target=name, position=row.position) if row else None
        record = self._site.ask("actions", target=name, table=table, outcome="parked", limit=1) if row else None
        records = (record.value or {}).get("records") if record else None
        return self._site.render(
            request,
            "parked_table.html",
            target=name,
            table=table,
            row=row,
            event=event.value if event else None,
            differences=differences_of(records[0]) if records else (),
            is_known=bool(records),
        )

    def actions(self, request: Request) -> Response:
        """The journal, the newest first."""
        query = request.query_params
        answer = self._site.ask("actions", **request_of(query, MOST_RECORDS))
        value = answer.value or {"records": [], "next": None}
        targets = [it["name"] for it in self._site.status()["targets"]]
        return self._site.render(
            request,
            "actions.html",
            answer=answer,
            feed=journal_feed(value, query),
            newest=page_link(query) if "before" in query else "",
            chosen={key: query.get(key, "") for key in FILTERS},
            targets=targets,
            outcomes=OUTCOMES,
        )

    def tables(self, request: Request) -> Response:
        """All tables with their states, or those that are searched for; the whole name of one leads to its page."""
        query = request.query_params
        name = query.get("name", "").strip()
        if "." in name and not filter_of(query).keys() - {"name"} and self._is_whole(name.lower()):
            return RedirectResponse(f"/tables/{segment(name)}", 303)
        wanted = tables_request(query)
        answer = self._site.ask("tables", **wanted)
        if answer.value is None and wanted.get("state") and wanted["sort"] == "urgency":
            # Of some states the tables are known without the source, but not how many there are of the others.
            answer = self._site.ask("tables", **{**wanted, "sort": "name"})
        return self._site.render(
            request,
            "tables.html",
            page=tables_page(answer.value, query) if answer.value else None,
            problem=answer.problem,
            chosen={key: query.get(key, "") for key in TABLE_FILTERS},
            states=TONES,
            sorts=SORTS,
            targets=[it["name"] for it in self._site.status()["targets"]],
        )

    def suggestions(self, request: Request) -> Response:
        """A few names of tables with this text in them, as JSON; none where the source does not answer."""
        name = request.query_params.get("name", "").strip()
        answer = self._site.ask("tables", part=name, sort="match", limit=SUGGESTED) if name else CommandAnswer(None)
        names = [it["object"] for it in (answer.value or {}).get("objects", ())]
        return JSONResponse(names, headers={"Cache-Control": "no-store"})

    def _is_whole(self, name: str) -> bool:
        """Whether it is no part of a table's name only; also where that is not known: its page says what is."""
        answer = self._site.ask("tables", part=name, begin=name, limit=1)
        objects = (answer.value or {}).get("objects") or ()
        return not objects or bool(objects[0]["object"] == name)

    def table(self, request: Request) -> Response:
        """The life of a table."""
        name = request.path_params["table"]
        answer = self._site.ask("why", table=name)
        view = table_view(answer.value) if answer.value else None
        code = 200 if view or answer.is_missing else 404
        return self._site.render(request, "table.html", code, name=name, view=view, answer=answer)

    def verify(self, request: Request) -> Response:
        """What the last comparisons found, a tile for each database."""
        names = [it["name"] for it in self._site.status()["targets"]]
        views = {name: self._verified(name) for name in names}
        return self._site.render(request, "verify.html", views=views)

    def verify_database(self, request: Request) -> Response:
        """What differs in one database, field by field."""
        name, database = request.path_params["target"], request.path_params["database"]
        self._target(self._site.status(), name)
        view = self._verified(name)
        objects = of_database(view, database) if view else []
        drifted = [it.source for it in objects if it.link and it.tone == BAD]
        values: dict[str, Any] = {"view": view, "objects": objects, "drifted": drifted}
        return self._site.render(request, "verify_database.html", target=name, database=database, **values)

    def views(self, request: Request) -> Response:
        """What Athena has of the views of the source, and which setting brings most."""
        answer = self._site.ask("views")
        page = translations_page(answer.value, request.query_params) if answer.value else None
        return self._site.render(request, "views.html", page=page, problem=answer.problem)

    def _verified(self, target: str) -> VerifyView | None:
        answer = self._site.ask("verified", target=target)
        return verify_view(target, answer.value) if answer.value and answer.value.get("ended_at") else None

    def _target(self, status: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        for it in status["targets"]:
            if it["name"] == name:
                target: Mapping[str, Any] = it
                return target
        raise HTTPException(404, "the sidecar has no target of this name")

    def _signed_in(self, page: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """The page for a signed-in user; for others the way to sign in, or why there is none."""

        def guarded(request: Request) -> Response:
            if self._site.session(request):
                return page(request)
            return self._site.render(request, "sign_in_first.html", 403)

        return guarded
