"""Commands: what the running sidecar does for `pysync plan`, `pause`, `resume` and `parked`, as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from pysync.base.errors import PysyncError
from pysync.base.text import meant, quoted, shortened, shown
from pysync.capture.roll import Roll
from pysync.control.server import Command
from pysync.journal import Journal, Reader
from pysync.model.names import TableName, normalized
from pysync.queue import EventQueue, ParkedTable, note_of
from pysync.replay.drain import Drain
from pysync.resync.bootstrap import assert_ready, begin_bootstraps
from pysync.resync.healing import Healer
from pysync.resync.ranges import counted, range_of
from pysync.resync.rescoping import stored_scope
from pysync.resync.triggers import Resyncs
from pysync.sidecar import held, journal_pages, parked, trash
from pysync.sidecar.acts import recorded
from pysync.sidecar.adoption import Adoption
from pysync.sidecar.arguments import checked
from pysync.sidecar.history import listed
from pysync.sidecar.plans import plans_of
from pysync.sidecar.trash import Trash
from pysync.sidecar.verifying import ComparisonSummary, Verifier
from pysync.sidecar.waiting import assert_exist
from pysync.sidecar.why import EndsReader, Inventory, Why
from pysync.targets.settings import assert_enabled

_AT_TARGET_SECONDS = 8.0
"""For what a command does at a target. Some stop by themselves after half of that, and have a retry to wait for."""

Request = Mapping[str, Any]
T = TypeVar("T")


class Commands:
    """One method for each command; they are called from the control socket's threads."""

    def __init__(
        self,
        queue: EventQueue,
        drains: Sequence[Drain],
        healer: Healer,
        resyncs: Mapping[str, Resyncs],
        roll: Roll,
        *,
        journal: Journal,
        verifiers: Mapping[str, Verifier],
        ends: EndsReader,
    ) -> None:
        self._queue = queue
        self._journal = journal
        self._roll = roll
        self._resyncs = resyncs
        self._healer = healer
        self._drains = {drain.name: drain for drain in drains}
        self._verifiers = verifiers
        self._reader = Reader(journal.file)

        def listeners() -> Sequence[Mapping[str, Any]]:
            return roll.status(queue.intake.instances())

        self._ends = ends
        self._why = Why(queue, self._drains, self._reader, listeners, ends)
        last_results = {name: it.last_result for name, it in verifiers.items()}
        self._inventory = Inventory(queue, self._drains, self._reader, last_results, listeners, ends)

    def by_name(self, more: Mapping[str, Command]) -> Mapping[str, Command]:
        """The commands by their names in requests, and `more`. What people do with them goes into the journal."""
        commands: Mapping[str, Command] = {
            **more,
            "actions": partial(journal_pages.listed, self._reader),
            "events": partial(listed, self._queue),
            "plan": self.plan,
            "scopes": self.scopes,
            "loads": self.loads,
            "why": self._why,
            "tables": self._inventory,
            "pause": self.pause,
            "resume": self.resume,
            **_about(self._drain, held.COMMANDS),
            "refresh": self.refresh,
            "bootstrap": self.bootstrap,
            "replay": self.replay,
            "replay plan": self.replay_plan,
            **{name: self._at_target(it) for name, it in _about(self._trash_of, trash.COMMANDS).items()},
            "verify": self.verify,
            "verified": self.verified,
            "listener remove": self.listener_remove,
            "parked list": self.parked_list,
            "parked show": self.parked_show,
            "parked retry": self.parked_retry,
            "parked skip": self.parked_skip,
            "parked adopt": self._at_target(self.parked_adopt),
        }
        return {name: checked(it) for name, it in recorded(commands, self._journal.append).items()}

    def plan(self, request: Request) -> dict[str, Any]:
        """`targets`: what the next window of each target (or of the one named) would do. Changes nothing."""
        drains = [self._drain(request)] if request.get("target") else list(self._drains.values())
        return {"targets": plans_of(drains, self._queue, self._ends)}

    def scopes(self, _: Request) -> dict[str, Any]:
        """`scopes`: what is kept of each target's scope, by its name, for `pysync plan --scope`."""
        scopes = {name: stored_scope(self._queue, name) for name in self._drains}
        return {"scopes": {name: scope.model_dump() for name, scope in scopes.items() if scope is not None}}

    def loads(self, _: Request) -> dict[str, Any]:
        """`notes`: what is noted of the dumps that the targets took, by the keys of the notes, for REPL STATUS."""
        # The keys are those of dump/taken, which no sidecar imports: it would load all that reads dumps.
        keys = [note_of(name, what) for name in self._drains for what in ("load", "load:scopes")]
        return {"notes": {key: text for key in keys if (text := self._queue.notes.get(key)) is not None}}

    def pause(self, request: Request) -> dict[str, Any]:
        """Pause a target, durably."""
        drain, reason = self._drain(request), str(request.get("reason") or "by hand")
        drain.pause(reason)
        return {"target": drain.name, "paused": reason}

    def resume(self, request: Request) -> dict[str, Any]:
        """Lift a pause; `was` says which, null if there was none."""
        drain = self._drain(request)
        pause = drain.resume()
        return {"target": drain.name, "was": pause and pause.reason}

    def refresh(self, request: Request) -> dict[str, Any]:
        """Have all targets read some tables and databases at the source again, or everything.

        `gap` is the reason that `status` shows. Refuses a table that is neither at the source nor at a target, unless
        all have been `seen`: a repair has seen them, and the refresh of a table's database may have dropped it since.
        """
        tables = [TableName.parse(str(name)) for name in request.get("tables") or ()]
        databases = [normalized(str(name)) for name in request.get("databases") or ()]
        if not request.get("seen"):
            enabled = [it for it in self._drains.values() if it.settings.enabled]
            assert_exist(self._ends, enabled, [str(it) for it in tables])
        return {"gap": self._healer.refresh(tables, databases)}

    def bootstrap(self, request: Request) -> dict[str, Any]:
        """Begin a bootstrap of a target or of all, or join the running one; `begun` says which, `targets` for whom.

        All are those that are enabled.
        """
        enabled = [name for name, drain in self._drains.items() if drain.settings.enabled]
        names = [self._drain(request).name] if request.get("target") else enabled
        if not names:
            raise PysyncError("all targets are disabled", "first run: pysync target enable TARGET")
        begun = begin_bootstraps([self._resyncs[it].bootstrap for it in names])
        return {"begun": begun, "targets": names}

    def replay(self, request: Request) -> dict[str, Any]:
        """Replay a range of the history at a target; `begun` is False if that is under way (see resync.history)."""
        drain = self._drain(request)
        assert_ready(drain)
        selected = range_of(self._queue, request)
        begun = self._resyncs[drain.name].history.begin(selected)
        return {"target": drain.name, "begun": begun, "first": selected.first, "last": selected.last}

    def replay_plan(self, request: Request) -> dict[str, Any]:
        """What a replay of a range would refresh at a target, for a part of the range; changes nothing."""
        drain = self._drain(request)
        return {"target": drain.name, **counted(self._queue, drain.translator.policy, request)}

    def verify(self, request: Request) -> dict[str, Any]:
        """Have a target compared with the source as soon as it is at rest; `verified` says what was found.

        With `numbers` it has been compared, and only what is in `unequal` is looked at again.
        """
        drain = self._drain(request)
        assert_enabled(drain.settings)
        verifier, numbers = self._verifiers[drain.name], request.get("numbers")
        if numbers is None:
            verifier.ask()
        else:
            began, ended = (float(request.get(key) or 0) for key in ("began_at", "ended_at"))
            verifier.compare_again(ComparisonSummary(began, ended, numbers, request.get("unequal") or ()))
        return {"target": drain.name, "begun": True}

    def verified(self, request: Request) -> dict[str, Any]:
        """What the sidecar's last comparison of a target found; only `target`, where there was none."""
        return self._verifiers[self._drain(request).name].last_result()

    def listener_remove(self, request: Request) -> dict[str, Any]:
        """Strike a listener off the roll until it is heard again; `removed` is false where it was not on it."""
        instance = str(request.get("instance"))
        removed = self._roll.forget(instance)
        self._roll.save()
        return {"instance": instance, "removed": removed}

    def parked_list(self, request: Request) -> dict[str, Any]:
        """`tables`: what is parked, table by table; `groups`: by reason."""
        return parked.listed(self._drain(request), self._parked(request), request)

    def parked_show(self, request: Request) -> dict[str, Any]:
        """One parked event, decoded as far as it can be."""
        drain, position = self._drain(request), _position(request)
        rows = self._queue.target(drain.name).parked.at(position or 0)
        if not rows:
            raise PysyncError(f"event {position} is not parked", f"see: pysync parked list {drain.name}")
        return parked.parked_event(rows)

    def parked_retry(self, request: Request) -> dict[str, Any]:
        """Try parked events again."""
        return parked.retried(self._drain(request), self._parked(request), request)

    def parked_skip(self, request: Request) -> dict[str, Any]:
        """Give parked events up."""
        return parked.skipped(self._drain(request), self._parked(request), request, _position(request))

    def parked_adopt(self, request: Request) -> dict[str, Any]:
        """Make tables of the target that are in the way of parked events the source's."""
        adoption = Adoption(self._queue, self._drain(request), self._ends.source, self._healer.read_again)
        return adoption(self._parked(request), request)

    def _at_target(self, command: Command) -> Command:
        """The command, which asks the target that a request names: a refusal in words, if that hangs."""

        def asked(request: Request) -> Mapping[str, Any]:
            act = partial(command, request)
            return self._ends.questions.act(f"target {self._drain(request).name}", act, _AT_TARGET_SECONDS)

        return asked

    def _parked(self, request: Request) -> Sequence[ParkedTable]:
        return self._queue.target(self._drain(request).name).parked.tables()

    def _trash_of(self, request: Request) -> Trash:
        return Trash(self._drain(request).settings, self._drains)

    def _drain(self, request: Request) -> Drain:
        name = request.get("target")
        if not isinstance(name, str) or name not in self._drains:
            raise PysyncError(
                f"the sidecar has no target {quoted(str(name))}", meant(str(name), self._drains, "its targets")
            )
        return self._drains[name]


def _about(
    of: Callable[[Request], T], commands: Mapping[str, Callable[[T, Request], Mapping[str, Any]]]
) -> dict[str, Command]:
    """Commands about something that a request names; `of` finds it."""

    def about(act: Callable[[T, Request], Mapping[str, Any]]) -> Command:
        return lambda request: act(of(request), request)

    return {name: about(act) for name, act in commands.items()}


def _position(request: Request) -> int | None:
    value = request.get("position")
    # JSON's true is an int in Python.
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise PysyncError(f"{shortened(shown(value), 80)} is not a position", "pysync parked list shows the positions")
    return value
