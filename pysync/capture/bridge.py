"""The bridge: the py4j endpoint that the listener calls, on 127.0.0.1, and what it answers.

Only this side listens. What arrives is data: three methods can be called, with strings, by whoever knows the secret
(pysync.capture.connections). Answers and their meaning: docs/wire-format.md.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from py4j.java_gateway import server_started, server_stopped
from py4j.protocol import Py4JNetworkError

from pysync.base.crashpoints import crash_point
from pysync.base.errors import PysyncError
from pysync.capture.connections import HOST, Admission, Server
from pysync.capture.gaps import MOST, GapWatch
from pysync.capture.overlaps import Overlaps
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.wire import UnreadableEvent, UnsupportedEvent, decode_event
from pysync.queue import Entry, Intake, QueueFailed, QueueFull

PROTOCOL = "pysync 1"

ANSWERS = ("failed", "full", "unsupported", "unreadable", "queued")
"""The answers of `append`, the worst first."""

_BACKLOG = 512  # py4j's own 5 costs a caller a second under load: the kernel drops its SYN (measured with 50 threads)
_START_SECONDS = 5.0
_LONGEST_REPORT = 64 * 1024
_LONGEST_NAME = 200
_LATEST_MS = 253402300799999  # the end of the year 9999

log = structlog.get_logger(__name__)


class Reception:
    """Takes events in, from any thread. None of `ping`, `append` and `report` raises: every outcome is an answer."""

    def __init__(
        self,
        intake: Intake,
        watch: GapWatch,
        overlaps: Overlaps,
        lost: Sequence[Callable[[Event], str | None]] = (),
    ) -> None:
        """`lost` says of an event which cluster may have lost changes, so that everything is compared with it."""
        self._intake = intake
        self._lost = lost
        self._watch = watch
        self._overlaps = overlaps
        self._counting = threading.Lock()
        self._answers: Counter[str] = Counter()

    def ping(self) -> str:
        """The version of the protocol."""
        return PROTOCOL

    def append(self, payload: str, *more: str) -> str:
        """Take events in, in order. Answers `queued` only once they are on disk; the same event may be sent again.

        One answer for all, the worst of theirs: after any but `queued` and `unreadable` all of them are sent again.
        """
        answers = self._taken([payload, *more])
        with self._counting:
            self._answers.update(answers)
        return min(answers, key=ANSWERS.index)

    def report(self, payload: str) -> str:
        """Note what a listener reports of itself, every few seconds: `ok`, maybe with a roll call, or `unreadable`.

        `full` or `failed` where it reports an earlier one that has ended, and that cannot be recorded now.
        """
        try:
            return (len(payload) <= _LONGEST_REPORT and self._watch.report(payload)) or "unreadable"
        except (QueueFull, QueueFailed) as error:
            log.error("report_failed", reason=str(error))
            return "full" if isinstance(error, QueueFull) else "failed"

    def answers(self) -> dict[str, int]:
        """How often each answer was given since the start."""
        with self._counting:
            return dict(self._answers)

    def differing(self) -> int:
        """How many events were sent again with other bytes since the start; of each batch the first is counted."""
        return self._intake.differing

    def _taken(self, payloads: Sequence[str]) -> list[str]:
        """The answer to each. Beside an unsupported event none is taken: those behind it must not overtake it."""
        try:
            reads = [_read(payload) for payload in payloads]
        except UnsupportedEvent as error:
            log.error("event_unsupported", reason=str(error))
            return ["unsupported"] * len(payloads)
        events = [it for it in reads if not isinstance(it, _NoEvent)]
        answers = [self._set_aside(it) for it in reads if isinstance(it, _NoEvent)]
        return answers + [self._queued(events)] * len(events) if events else answers

    def _queued(self, reads: Sequence[_Read]) -> str:
        events = [it.event for it in reads]
        try:
            news = self._intake.append_all(
                [Entry(it.event.instance, it.event.sequence, it.event.source, it.data, firm=True) for it in reads]
            )
            # What cannot be noted fails the whole batch: it is sent again, and what is queued is known then.
            for event in events:
                self._note(event)
        except QueueFull as error:
            self._watch.roll.refused(events)
            log.error("queue_full", events=len(events), reason=str(error))
            return "full"
        except QueueFailed as error:
            self._watch.roll.refused(events)
            log.error("append_failed", events=len(events), reason=str(error))
            return "failed"
        for event, new in zip(events, news, strict=True):
            self._watch.note_event(event.instance, event.notification_id)
            self._watch.roll.taken(event)
            # One that was sent again was seen before, and would seem to overlap with what came since.
            if new:
                self._overlaps.seen(event)
            log.debug("event_received", kind=str(event.kind), id=event.id, new=new)
        crash_point("append.answering")
        return "queued"

    def _note(self, event: Event) -> None:
        if event.kind is Kind.GOODBYE:
            self._watch.goodbye(event.instance, event.sequence)
        for cluster in filter(None, (lost(event) for lost in self._lost)):
            self._watch.lost(event, cluster)

    def _set_aside(self, unreadable: _NoEvent) -> str:
        try:
            self._intake.keep_unreadable(unreadable.data, unreadable.reason)
        except (QueueFull, QueueFailed) as error:
            log.error("append_failed", events=1, reason=str(error))
            return "full" if isinstance(error, QueueFull) else "failed"
        log.error("event_unreadable", reason=unreadable.reason, bytes=len(unreadable.data))
        return "unreadable"


@dataclass(frozen=True, slots=True)
class _Read:
    event: Event
    data: bytes


@dataclass(frozen=True, slots=True)
class _NoEvent:
    data: bytes
    reason: str


def _read(payload: str) -> _Read | _NoEvent:
    """What the payload holds. Raises UnsupportedEvent for an event of a newer listener."""
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return _NoEvent(payload.encode("utf-8", "backslashreplace"), "the event is not valid base64")
    try:
        event = decode_event(data)
    except UnreadableEvent as error:
        return _NoEvent(data, str(error))
    # Whoever has the token can make these up, and they get into status and logs.
    if event.sequence > MOST or not 0 <= event.time_ms <= _LATEST_MS or len(event.instance) > _LONGEST_NAME:
        return _NoEvent(data, "the event's sequence, time or instance is not one that a listener can send")
    if event.kind is Kind.REFRESH or event.instance == SIDECAR:
        return _NoEvent(data, "only the sidecar itself may queue such an event")
    return _Read(event, data)


class Bridge:
    """The listening socket and its supervision.

    `on_stopped` is called if py4j's accept loop ends by itself, as it does for good at any error of accept, say EMFILE.
    """

    def __init__(
        self,
        reception: Reception,
        port: int,
        token: str,
        on_stopped: Callable[[], None],
    ) -> None:
        """`token` is the secret that the listener has to prove that it knows."""
        self._reception = reception
        self._on_stopped = on_stopped
        self._closing = False
        self._listening = threading.Event()
        methods: dict[str, Callable[..., str]]
        methods = {"append": reception.append, "ping": reception.ping, "report": reception.report}
        self._admission = Admission(token.encode(), methods)
        self._server = Server(self._admission, port)

    def start(self) -> int:
        """Listen; returns the port. Raises PysyncError when the port is taken."""
        server_started.connect(self._raise_backlog, sender=self._server)
        server_stopped.connect(self._stopped, sender=self._server)
        try:
            self._server.start()
        except Py4JNetworkError as error:
            port = self._server.port
            # py4j leaves it open when it cannot bind.
            self._server.server_socket.close()
            raise PysyncError(
                f"the bridge cannot listen on {HOST}:{port}: {_reason(error)}",
                "stop the process that uses the port (ss -ltnp shows it), or set another port: [bridge] port in "
                "pysync.toml and pysync.bridge.port in hive-site.xml",
            ) from error
        # py4j gives its signal from the accept thread, when `start` has returned already.
        if not self._listening.wait(_START_SECONDS):
            raise PysyncError(f"the bridge did not start listening on {HOST}:{self._server.port}")
        return int(self._server.get_listening_port())

    def stop(self) -> None:
        """Stop listening and close all connections; calls in progress may get no answer.

        May be called twice, and after a `start` that failed.
        """
        if self._listening.is_set() and not self._closing:
            self._closing = True
            self._server.shutdown()

    def status(self) -> dict[str, Any]:
        """Port, open connections, refused ones and when the last was, each answer's count, and forgeries."""
        return {
            "port": int(self._server.get_listening_port()),
            "connections": len(self._server.connections),
            "refused_connections": self._admission.refusals.total,
            "refused_last_at": self._admission.refusals.last_at,
            "answers": self._reception.answers(),
            "differing": self._reception.differing(),
        }

    def log_refused(self) -> None:
        """Log how many callers were refused since the last line about that, if any. For whoever keeps house."""
        self._admission.refusals.log_repeated()

    def _raise_backlog(self, **_: Any) -> None:
        self._server.server_socket.listen(_BACKLOG)
        self._listening.set()

    def _stopped(self, **_: Any) -> None:
        if not self._closing:
            self._on_stopped()


def _reason(error: Py4JNetworkError) -> str:
    cause = getattr(error, "cause", None)
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
