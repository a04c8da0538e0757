"""What people do by hand, where one cluster replicates to another: other scopes, tables of their own at the target,
trimming, loads of old dumps, backups of the source; and tables that hang.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.jobs.load_guard import Survey, older
from pysync.lab.memory import MemoryMetastore, MemoryStore, MemoryTarget
from pysync.replay.window.translate import Translator
from pysync.resync.refreshes import Refreshes
from pysync.resync.wanted import everything
from tests.simulation import rounds
from tests.simulation.clients import DATABASES, TABLES
from tests.simulation.clock import Clock
from tests.simulation.cluster import Cluster
from tests.simulation.dumps import Dumped
from tests.simulation.history import Step
from tests.simulation.scopes import EVERYTHING, SCOPES, Scope
from tests.simulation.sidecar import Sidecar
from tests.simulation.state import differences, state
from tests.support import partition, table

_TURNS = 10
_ROUNDS, _ROUND_SECONDS = 120, 2.0
_TRIM_POINTS = ("trim.written", "trim.committed")


class Executor:
    """Those of one world; what is `own` at the target nobody else may touch."""

    def __init__(self, source: Cluster, target: Cluster, rescoped: Callable[[Scope], None], clock: Clock) -> None:
        self.source, self.target = source, target
        self._clock = clock
        self.scope = EVERYTHING
        self.own: dict[tuple[str, str], Any] = {}
        self.databases: dict[str, bool] = {}
        """Where something of their own is, or was; whether the database is their own, too."""
        self.dumps: list[Dumped] = []
        self._backup: list[dict[str, Any]] = []
        self.hung: str | None = None
        self._hms = MemoryMetastore(target.store)
        self._rescoped = rescoped

    def rescope(self, step: Step) -> str:
        """The target's settings change, and the sidecar is started anew."""
        self.scope = SCOPES[step.a % len(SCOPES)]
        self.source.kill()
        self._rescoped(self.scope)
        self.source.start()
        return f"the sidecar of {self.source.name} begins anew, and {self.target.name} gets {dict(self.scope.settings)}"

    def make(self, step: Step) -> str:
        """A table at the target; one that they have there already they drop."""
        name = (*DATABASES, "c")[step.a % 3], (*TABLES, "x")[step.b % 4]
        if name in self.own:
            return self._drop(name)
        if self._hms.table(*name) is not None:
            return "nothing is made by hand: there is something already"
        self.databases.setdefault(name[0], False)
        if self._hms.database(name[0]) is None:
            self.databases[name[0]] = True
            self._hms.call(lambda client: client.create_database(hive.Database(name=name[0], parameters={})))
        made = table(*name, partition_keys=[("k", "string")], parameters={"own": "true"})
        parts = hive.AddPartitionsRequest(*name, [partition(made, ["1"])], False)
        self._hms.call(lambda client: client.create_table(made))
        self._hms.call(lambda client: client.add_partitions_req(parts))
        held = self.target.store.table(*name)
        self.own[name] = [held.struct, *held.partitions.values()]
        return f"table {'.'.join(name)} is made by hand at {self.target.name}"

    def trim(self, step: Step) -> str:
        """The queue is trimmed; sometimes the sidecar dies at that."""
        if self.source.sidecar is None:
            return "nobody is there to trim"
        if step.b % 4 == 0:
            self.source.fatal = _TRIM_POINTS[step.c % 2], 0
        self.source.sidecar.healer.note_unsettled()  # a sidecar does so each second, and trims nothing so young
        return f"{self.source.sidecar.queue.trim(retain_seconds=(0.0, 5.0)[step.a % 2])} events are trimmed"

    def hang(self, step: Step) -> str:
        """Whatever is to be done to one table hangs from now on, or fails: until it is another's turn."""
        link = self.source.links[self.target.name]
        self.hung = f"{DATABASES[step.b % 2]}.{TABLES[step.b // 2 % 3]}"
        link.hanging, link.failing = frozenset({self.hung}), bool(step.a % 2)
        return f"{self.hung} {'fails' if step.a % 2 else 'hangs'} at {self.target.name}"

    def kept_waiting(self) -> str | None:
        """What does not become visible at the target though it has nothing to do with what hangs there; None if all
        does: within a few turns for each event, or within minutes if the source has to be compared or an event was
        refused, as nothing hangs longer than its call may take. What hangs goes on then.
        """
        if self.hung is None:
            return None
        self.source.calm()
        late = self._late_soon()
        if late and self._needs_minutes():
            late = self._late_in_minutes()
        link = self.source.links[self.target.name]
        link.hanging, link.failing = frozenset(), False
        return f"it waits for {self.hung}, which hangs: {late}" if late else None

    def _late_soon(self) -> list[str]:
        """What is late after a few turns for each event."""
        assert self.source.sidecar is not None
        while self.source.listener.spool:
            self.source.listener.ship(self.source)
        feed = self.source.sidecar.feeds[0]
        late: list[str] = []
        for _ in range(_TURNS):
            for _ in range(10 + feed.behind):
                feed.turn()
            if not (late := [] if feed.is_full else self._late()):
                break
        return late

    def _needs_minutes(self) -> bool:
        sidecar = self.source.sidecar
        assert sidecar is not None
        return bool(self.source.listener.dead) or sidecar.compares or sidecar.feeds[0].refuses

    def _late_in_minutes(self) -> list[str]:
        self.source.links[self.target.name].failing = True
        late = self._late()
        for _ in range(_ROUNDS):
            if not late:
                break
            rounds.take([self.source])
            self._clock.seconds += _ROUND_SECONDS
            late = self._late()
        return late

    def _late(self) -> list[str]:
        """What is not yet as at the source, but for what hangs."""
        ends = (state(it.store) for it in (self.source, self.target))
        return differences(*({key: item for key, item in end.items() if not self._hangs(key)} for end in ends))

    def _hangs(self, key: str) -> bool:
        return key.partition("/")[0] == self.hung

    def may_stay(self, key: str) -> bool:
        """Whether something may be at the target that the source does not have: pysync leaves alone what people own.

        A database with something of theirs in it stays, and one of theirs, with its functions, which have no marks.
        """
        database, _, name = key.partition(".")
        return database in self.databases and (not name or name.endswith("()"))

    def may_differ(self, key: str) -> bool:
        """Whether it is a function in a database of theirs: it may be theirs, too."""
        return self.databases.get(key.partition(".")[0], False) and key.endswith("()")

    def dump(self, _: Step) -> str:
        """What the source has is written down."""
        self.dumps.append(Dumped.of(self.source.name, self.source.store, self.source.now()))
        return f"dump {len(self.dumps)} of {self.source.name} is made"

    def load(self, step: Step) -> str:
        """One of the dumps is loaded, if the guard takes it, while the sidecar is away; the first is made."""
        if not self.dumps:
            return self.dump(step)
        number, runs = step.a % len(self.dumps), self.source.sidecar is not None
        self.source.kill()
        self.source.start(self.dumps[number])
        reported = self._load(self.dumps[number], self.source.sidecar)
        self.source.kill()
        if runs:
            self.source.start()
        return f"dump {1 + number} is {reported}"

    def _load(self, dumped: Dumped, sidecar: Sidecar | None) -> str:
        assert sidecar is not None
        feed, settings = sidecar.feeds[0], self.source.settings[self.target.name]
        survey = Survey(  # type: ignore[arg-type]  # a metastore that reads as a dump does
            dumped.opened(),
            MemoryTarget(settings, self.target.store),
            Translator.of(settings),
            dumped.manifest,
            sidecar.queue.writer(feed.name),
            whole=True,
        )
        if reason := older(sidecar.queue, dumped.manifest, feed.name, survey):
            return f"refused: {reason}"
        marks = {"targets": feed.name, "bootstrap": "true"}
        wanted = everything(dumped.opened(), lambda: sidecar.queue.last)
        Refreshes(sidecar.queue, dumped.manifest.source).ask(
            [{**names, **marks} for names in wanted], live_source=False
        )
        while feed.behind:
            feed.turn()
        return "loaded"

    def backup(self, _: Step) -> str:
        """A backup of the source's metastore is made; it takes the place of the last one."""
        self._backup = [deepcopy(it.databases) for it in self._stores()]
        self._clock.seconds += 1  # no change comes in the second of the backup
        return f"a backup of {self.source.name} is made"

    def restore(self, step: Step) -> str:
        """The source's metastore ends in order, and begins with the database of the backup; without one it is made."""
        if not self._backup:
            return self.backup(step)
        for store, databases in zip(self._stores(), self._backup, strict=True):
            store.databases = deepcopy(databases)
        self.source.listener.leave()
        self._clock.seconds += CLOSE_SECONDS
        return f"{self.source.name} gets its backup"

    def _stores(self) -> tuple[MemoryStore, MemoryStore]:
        return self.source.store, self.source.intended

    def touched(self) -> str | None:
        """What of their own is not as they left it; None if all is."""
        for name, structs in self.own.items():
            held = self.target.store.find(*name)
            found = [held.struct, *held.partitions.values()] if held is not None else []
            if len(found) != len(structs) or any(one is not other for one, other in zip(found, structs, strict=True)):
                return f"{'.'.join(name)}, which was made by hand, has been touched"
        return None

    def leave(self) -> None:
        """They drop what is their own, and have what is parked tried again."""
        for name in list(self.own):
            self._drop(name)
        for feed in self.source.sidecar.feeds if self.source.sidecar else ():
            feed.ask_for_retry()

    def _drop(self, name: tuple[str, str]) -> str:
        del self.own[name]
        if self.target.store.find(*name) is not None:
            self._hms.call(lambda client: client.drop_table(*name, True))
        return f"table {'.'.join(name)} is dropped by hand at {self.target.name}"
