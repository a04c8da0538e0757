"""The sidecar: queue, bridge, one drain a target and the control socket, wired together and taken down in order.

Start-up waits for nothing but the disk and the port. A stop loses nothing: what the bridge answered is in the queue,
and what a target was just asked to do is asked again at the next start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from pysync import __version__
from pysync.base.counts import Counts
from pysync.base.errors import PysyncError
from pysync.base.throttle import Throttle
from pysync.base.token import read_token
from pysync.capture.bridge import Bridge, Reception
from pysync.capture.gaps import GapWatch
from pysync.capture.hive_version import FoundVersion, ask_version
from pysync.capture.overlaps import RECALLED_SECONDS, Overlaps
from pysync.capture.source_watch import SourceWatch
from pysync.capture.switch import NOTIFICATION_LOG, note_capture
from pysync.config import Config
from pysync.config_file.file import digest_of
from pysync.control.server import Command, ControlServer
from pysync.metastore.client import Metastore
from pysync.metastore.source import reading
from pysync.queue import EventQueue, QueueClosed, QueueFailed, QueueFull
from pysync.queue.gaps import new_gaps
from pysync.replay.drain import Drain
from pysync.replay.progress import DrainState
from pysync.replay.replayer import Replayer
from pysync.replay.window.direction import Direction
from pysync.replay.window.translate import Translator
from pysync.resync.bootstrap import BootstrapOrigin, bootstrap_status
from pysync.resync.healing import Healer
from pysync.resync.refreshes import Refreshes
from pysync.resync.rescoping import compare_scope, scope_status
from pysync.resync.triggers import Resyncs
from pysync.sections import QueueConfig
from pysync.sidecar.acts import journal_of
from pysync.sidecar.commands import Commands
from pysync.sidecar.credentials import Credentials
from pysync.sidecar.curves import Curves
from pysync.sidecar.lag import Lags
from pysync.sidecar.names import names_beginning
from pysync.sidecar.optional import OptionalParts
from pysync.sidecar.registry import assert_named, carry_out
from pysync.sidecar.reload import Reloads
from pysync.sidecar.shutdown import Shutdown
from pysync.sidecar.status import sidecar_status
from pysync.sidecar.trash import Sweeper
from pysync.sidecar.verifying import Verifier
from pysync.sidecar.version_sweeper import VersionSweeper
from pysync.sidecar.viewing import ViewsOfSource
from pysync.sidecar.waiting import Capture, LastIds, ObjectStatus, Waits
from pysync.sidecar.why import EndsReader
from pysync.sidecar.wiring import is_early, listens, missed_in_log, open_watched, poller_of
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker

_HOUSEKEEPING_SECONDS = 10.0
_TRIM_SECONDS = 0.5  # of one turn: the end may be asked for meanwhile
_LOCK_SECONDS = 1.0  # a sidecar that is just stopping is waited for; one that stays is not
_HELD_SECONDS = 1.0  # a poller may wait for an answer that long; what it reads then is read again
_STOP_SECONDS = 3.0
_ASK_SECONDS = 10.0  # for an answer of the source to the source watch, which has to keep up with the events
_HASTY_SECONDS = 3.0  # for an answer of the source or a target, while a person waits for a command
_MIB = 1024 * 1024

log = structlog.get_logger(__name__)


class Sidecar:
    """Everything that runs; use it once: `start`, `wait`, `stop`."""

    def __init__(
        self,
        config: Config,
        parts: OptionalParts,
        *,
        quarantine: bool = False,
        bridge: bool = True,
        only: Collection[str] = (),
        origin: BootstrapOrigin | None = None,
        file: Path | None = None,
    ) -> None:
        """Open the queue and lay out the rest. Raises PysyncError for a wrong token file, setting or queue, and
        UsageError where the queue knows a target that the configuration does not name.

        With `quarantine` a damaged queue is set aside and a new one begun. Without `bridge` no listener is answered,
        nor missed. `only` are the targets to drain, if not all; `origin` is read instead of the configured metastore.
        `file` holds the configuration, if it may be reloaded.
        """
        self._config, self._heals = config, bridge  # a one-off job leaves gaps and scopes to the next sidecar
        self._source, self._origin = config.source_access(), origin
        self._started, self.ending = time.time(), Shutdown()
        token = read_token(config.bridge.token_file) if bridge and config.source.capture != NOTIFICATION_LOG else None
        settings = [it for it in config.targets if not only or it.name in only]
        translated = [(it, Translator.of(it, config.source.replicators)) for it in settings]
        self.queue = _queue_of(config.queue, quarantine=quarantine)
        self._settle_names(file)
        self.reloads = Reloads(config, file, self.queue, parts) if file else None
        self.journal = journal_of(config, self.queue.room.is_tight)
        self._hive = self._hive_of(settings)
        self._watch = watch = GapWatch(self.queue, config.source.silence_seconds, hive=self._hive)
        self._roll, self._clocks, overlaps = watch.roll, watch.clocks, Overlaps()
        overlaps.recall(self.queue)
        self._lags = Lags(self.queue, self._clocks.offset)
        reception = Reception(self.queue.intake, watch, overlaps, [it.lost for _, it in translated])
        self.bridge = self._bridge(token, reception) if token else None
        self.poller = poller_of(self.queue, config)
        if self.poller:
            watch.retire()
        self._copies = parts.copies(settings, config.queue.directory.absolute())
        refreshes = Refreshes(self.queue, config.source.name)
        self.resyncs = {it.name: self._resyncs_of(it, translator, refreshes) for it, translator in translated}
        self.drains = [self._drain(it, translator) for it, translator in translated]
        self._healer = self._healer_of(watch, overlaps, refreshes)
        self._source_watch = self._source_watch_of(watch)
        self._verifiers = {it.name: self._verifier(it, watch) for it in self.drains}
        working = [it for it in self.drains if it.settings.enabled]
        self._sweepers = [it for drain in working for it in self._sweepers_of(drain)]
        self._ends = self._ends_reader()
        self._last_ids = [self._last_ids_of(it, refreshes) for it in working]
        self._receivers = parts.receivers(config, self.queue, self.journal, self.status) if bridge else []
        self._credentials = Credentials(config)
        self._curves = Curves({drain.name: drain for drain in self.drains}, self.status, self.journal)
        self.answers = answers = self._commands()
        self._web = parts.page(config.web, self.status, answers) if bridge and config.web.port is not None else None
        self._control = ControlServer(config.queue.directory, {"status": lambda _: self.status(), **answers})

    def _sweepers_of(self, drain: Drain) -> tuple[Sweeper, VersionSweeper]:
        settings, versions = drain.settings, self.queue.target(drain.name).data_versions
        return (
            Sweeper(settings, self._config.source.name, drain.paused, others=[*self.resyncs]),
            VersionSweeper(settings, versions, self._copies, drain.paused),
        )

    def _ends_reader(self) -> EndsReader:
        source = partial(reading, self._source, _HASTY_SECONDS) if self._source else None
        return EndsReader(source, seconds=_HASTY_SECONDS)

    def start(self) -> int:
        """Begin; returns the bridge's port, 0 without one. Raises PysyncError when the port is taken."""
        # First, as its port may be taken: then nothing else has begun. Events that come already wait in the queue.
        port = self.bridge.start() if self.bridge else 0
        # Before the drains register their targets, which makes them known.
        if self.bridge or self.poller:
            note_capture(self.queue, self._config.source.name, self._config.source.capture)
        self._compare_for_new_targets()
        self._compare_scopes()
        self.journal.worker.start()
        for drain in self.drains:
            drain.start()
        self._control.start()
        if self._web:
            self._web.start()
            log.info("web_started", url=self._web.url)
        enabled = [drain.name for drain in self.drains if drain.settings.enabled]
        if self._heals:
            self._healer.start()
            if self._source_watch:
                self._source_watch.worker.start()
            for name in enabled:
                self._verifiers[name].start()
            for sweeper in self._sweepers:
                sweeper.start()
            for last_ids in self._last_ids:
                last_ids.start()
        for receiver in self._receivers:
            receiver.worker.start()
        for name in enabled:
            self.resyncs[name].job.start(only_asked=not self._heals)
        if self.poller:
            self.poller.start()
        log.info("sidecar_started", source=self._config.source.name, port=port, pid=os.getpid(), version=__version__)
        return port

    def wait(self, over: Callable[[], bool] = lambda: False) -> None:
        """Keep house until the ending is asked for, or `over`. Raises PysyncError when the bridge ended by itself."""
        due = time.monotonic() + _HOUSEKEEPING_SECONDS
        while not self.ending.is_requested():
            if over():
                return
            self._curves.sample(time.time())
            # While there is more to trim, the next look keeps house again.
            if time.monotonic() > due and not self._keep_house():
                due = time.monotonic() + _HOUSEKEEPING_SECONDS
                if self.bridge:
                    self.bridge.log_refused()
        if failure := self.ending.failure():
            raise PysyncError(failure, "start the sidecar again; until then the listener keeps its events")

    def stop(self) -> bool:
        """Take everything down, within about three seconds even if a target hangs; False if one does."""
        if self.bridge:
            self.bridge.stop()
        if self.poller:
            self.poller.stop()
            self.poller.join(_HELD_SECONDS)
        workers = self._workers()
        for worker in workers:
            worker.stop()
        for drain in self.drains:
            drain.stop()
        # Before the drains are joined: a copy under way would hold them.
        self._copies.close()
        until = time.monotonic() + _STOP_SECONDS
        hanging = [drain.name for drain in self.drains if not drain.join(max(0.0, until - time.monotonic()))]
        for worker in workers:
            worker.join(max(0.0, until - time.monotonic()))
        for name in hanging:
            log.warning("target_hung", target=name)
        if self._web:
            self._web.stop()
        self._control.stop()
        self.journal.close()
        for receiver in self._receivers:
            receiver.close(complete=not self.journal.status()["waiting"] and not hanging)
        # Last: until now the drains noted in it how far they are.
        self.queue.close()
        log.info("sidecar_stopped")
        return not hanging

    def status(self) -> dict[str, Any]:
        """The answer to `pysync status`."""
        capture = {
            "bridge": self.bridge and self.bridge.status(),
            "notification_log": self.poller and self.poller.status(),
        }
        bootstraps = bootstrap_status(it.bootstrap for it in self.resyncs.values())
        bootstrap = {"bootstrap": bootstraps, "copy": self._copies.status()}
        receivers = {"receivers": [it.status() for it in self._receivers]}
        contact = {"source_last_contact": self._source_watch and self._source_watch.last_contact()}
        hive = {"hive_version": self._hive.version()}
        return sidecar_status(
            self._config,
            self._started,
            self.queue,
            {**capture, **bootstrap, **receivers, **contact, **hive},
            self.drains,
            roll=self._roll,
            clocks=self._clocks,
            lags=self._lags,
            workers=self._workers(),
            credentials=self._credentials.status(),
            journal=self.journal,
            file=self.reloads.status() if self.reloads else None,
            of_targets={it.name: self._status_of(it) for it in self.drains},
        )

    def _status_of(self, drain: Drain) -> dict[str, Any]:
        """What the status has of a target beside its drain."""
        resyncs = self.resyncs[drain.name]
        return {
            "scope": scope_status(self.queue, drain.settings),
            "verify": self._verifiers[drain.name].status(),
            "resyncs": resyncs.job.status(),
            "snapshots": resyncs.commits and resyncs.commits.status(),
        }

    def _workers(self) -> list[Worker]:
        """The workers that were started."""
        parts = [*self.drains, self.poller, self._healer, self._source_watch, self.journal]
        workers = [
            part.worker for part in [*parts, *self._verifiers.values(), *self._sweepers, *self._last_ids] if part
        ]
        workers += [it.worker for it in self._receivers]
        workers += [it.job.worker for it in self.resyncs.values()]
        return [worker for worker in workers if worker.started]

    def _settle_names(self, file: Path | None) -> None:
        """Refuse a queue with a target that the configuration lacks: only a person gives its position up (registry)."""
        named = [settings.name for settings in self._config.targets]
        try:
            carry_out(self.queue, named, digest_of(file) if file else None)
            assert_named(self._config.queue.directory, self.queue.positions(), named)
        except PysyncError:
            self.queue.close()
            raise

    def _compare_for_new_targets(self) -> None:
        """Open a gap for each new target: what the source had before is in no event."""
        for name in {drain.name for drain in self.drains} - self.queue.positions().keys():
            key = f"{new_gaps(name)}{self.queue.epoch}:{self.queue.last}"
            self.queue.gaps.open(key, f"target {name} is new: pysync compares it with the source")

    def _compare_scopes(self) -> None:
        """Compare the scopes; a load leaves it to the next `pysync run`, as a dump may lack what a new scope takes."""
        for drain in self.drains:
            if self._origin is None or drain.name not in self.queue.positions():
                compare_scope(self.queue, drain.settings)

    def _done(self) -> int:
        """The position of the slowest target that is at work."""
        positions = self.queue.positions()
        running = [positions[drain.name] for drain in self.drains if drain.progress.state is DrainState.RUNNING]
        # Where no target is at work, none holds anything back.
        return min(running, default=self.queue.last)

    def _keep_house(self) -> int:
        """Trim the queue for a moment; returns how much, 0 when there is nothing left to do.

        A disk that is full or does not answer is no reason to end: the listener has its spool, the drains wait, and all
        go on when the disk is back.
        """
        try:
            settings = self._config.queue
            retain = max(settings.retain, RECALLED_SECONDS)
            return self.queue.trim(0, retain, settings.retain_mb * _MIB, seconds=_TRIM_SECONDS)
        except QueueClosed:
            raise
        except (QueueFull, QueueFailed) as error:
            log.error("trim_failed", reason=str(error))
            return 0

    def _hive_of(self, targets: Iterable[TargetSettings]) -> FoundVersion:
        """The version that is found of the source's Hive, by which the views of all targets are read."""
        hive = FoundVersion(self.queue, self._config.source.name)
        for it in targets:
            it.use_source_hive(self._config.source.hive(hive.version))
        return hive

    def _bridge(self, token: str, reception: Reception) -> Bridge:
        return Bridge(reception, self._config.bridge.port, token, self._bridge_ended)

    def _commands(self) -> Mapping[str, Command]:
        """What the control socket and the page can ask, but for the status."""
        parts = self.queue, self.drains, self._healer, self.resyncs, self._roll
        commands = Commands(*parts, journal=self.journal, verifiers=self._verifiers, ends=self._ends)
        reloads = {"reload": self.reloads.ask, "expect": self.reloads.expect} if self.reloads else {}
        more = self._waiting_commands() | reloads | {"names": partial(names_beginning, self._ends)}
        if translating := [it for it in self._config.targets if it.translates_views]:
            more["views"] = ViewsOfSource(self._ends, translating)
        return commands.by_name(more | {"history": self._curves.history})

    def _capture(self) -> Capture:
        return Capture(self.queue, self._watch, self._healer.unsettled, self.poller, self._source)

    def _last_ids_of(self, drain: Drain, refreshes: Refreshes) -> LastIds:
        objects = ObjectStatus(self.queue, {drain.name: drain}, self._capture(), self._ends)
        return LastIds(drain, objects, refreshes, source=partial(reading, self._source))

    def _waiting_commands(self) -> dict[str, Command]:
        """What says where objects are at targets, and waits for them."""
        capture = self._capture()
        drains = {drain.name: drain for drain in self.drains}
        waits = Waits(self.queue, drains, capture, self._ends)
        status = ObjectStatus(self.queue, drains, capture, self._ends)
        return {"object": status, "wait": waits.ask, "wait end": waits.end}

    def _healer_of(self, watch: GapWatch, overlaps: Overlaps, refreshes: Refreshes) -> Healer:
        return Healer(
            self.queue,
            watch,
            overlaps,
            refreshes,
            source=self._source,
            done=self._done,
            tables_per_second=self._config.source.compare_tables_per_second,
            is_early=lambda gap: is_early(gap, self.poller, self._watch),
            relays=self._relays(),
        )

    def _source_watch_of(self, watch: GapWatch) -> SourceWatch | None:
        source = partial(reading, self._source, _ASK_SECONDS) if self._source else None
        if source is None:
            return None
        if self.poller is None:
            return SourceWatch(self.queue, source, watch, has_come=lambda _: watch.is_settled())
        return SourceWatch(
            self.queue,
            source,
            watch,
            has_come=self.poller.has_read,
            missed=partial(missed_in_log, self.queue),
            on_answer=partial(ask_version, self._hive, source),
        )

    def _relays(self) -> bool:
        """Whether targets pass on what they get."""
        return any(Direction.of(it).relays for it in self._config.targets)

    def _verifier(self, drain: Drain, watch: GapWatch) -> Verifier:
        """The verifier of a target. The pace is shared by all: it limits the load on the source."""
        pace = self._config.verify.tables_per_second / len(self._config.targets)
        return Verifier(self._config, self.queue, drain, watch.is_settled, tables_per_second=pace)

    def _resyncs_of(self, settings: TargetSettings, translator: Translator, refreshes: Refreshes) -> Resyncs:
        pace, source = self._config.source.compare_tables_per_second, self._open_source()
        return Resyncs.of(
            self.queue,
            refreshes,
            settings,
            translator,
            source=source,
            drain=lambda: next(it for it in self.drains if it.name == settings.name),
            tables_per_second=pace,
            origin=self._origin,
            listens=lambda: listens(self.poller),
            settled=self._watch.is_settled,
            relays=self._relays(),
        )

    def _open_source(self) -> Callable[[], AbstractContextManager[Metastore]] | None:
        return partial(reading, self._source) if self._source else None

    def _drain(self, settings: TargetSettings, translator: Translator) -> Drain:
        calls, throttle = Counts(), Throttle(settings.call_limit)
        opened = partial(open_watched, settings, calls, throttle, self.resyncs[settings.name].views.redefining)
        open_target = self._copies.opener(settings, opened, self.queue.target(settings.name).data_versions)
        living = partial(Metastore, self._source) if self._source else None
        source = self._origin.opened if self._origin else living
        replayer = Replayer(
            self.queue,
            settings,
            translator,
            source=source,
            tally=self.resyncs[settings.name].bootstrap.tally,
            record=self.journal.append,
            calls=calls,
            throttle=throttle,
            clock_offset=self._clocks.offset,
        )
        return Drain(replayer, open_target)

    def _bridge_ended(self) -> None:
        self.ending.ask("the bridge stopped accepting connections (check the limit of open files)")


def _queue_of(config: QueueConfig, *, quarantine: bool) -> EventQueue:
    least = config.min_free_mb * _MIB
    return EventQueue(config.directory, min_free_bytes=least, quarantine=quarantine, lock_timeout=_LOCK_SECONDS)
