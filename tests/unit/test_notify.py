"""Notifications: receivers miss nothing, get everything in order, and hold nobody up."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.base.health import Problem
from pysync.journal import Journal
from pysync.notify import EventsRefused, ReceiverNotes, notifier, receiver
from pysync.notify.receiver import Receiver
from pysync.sections import NotifyConfig
from tests.support.notifiers import GRACE, World
from tests.support.receivers import SECRET, WebhookReceiver

HOUR = 3600.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.turn()
    yield world
    world.close()


def names(number: int, first: int = 0) -> list[str]:
    return [f"db.t{it:04}" for it in range(first, first + number)]


def test_a_change_is_sent_as_a_signed_cloudevent(world: World) -> None:
    partitions = {"partitions": ("day=1",), "partition_count": 30}
    world.write("db.t", former="db.s", last_position=7, committed_at=1.25, reason="why", **partitions)
    world.turn()
    (event,) = world.receiver.events
    assert (event["specversion"], event["id"], event["source"]) == ("1.0", "1-1500000", "onprem")
    assert (event["type"], event["subject"]) == ("pysync.change.applied", "db.t")
    assert (event["time"], event["datacontenttype"]) == ("1970-01-01T00:00:01.500000+00:00", "application/json")
    words = event["data"]
    assert (words["target"], words["object"], words["former"], words["operation"]) == ("dr", "db.t", "db.s", "PutTable")
    assert (words["partitions"], words["partition_count"], words["last_position"]) == (["day=1"], 30, 7)
    assert "reason" not in words
    assert world.receiver.forged == 0


@pytest.mark.parametrize(
    ("begin", "part"),
    [(b"", b"H"), (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n")],
    ids=["drips its status", "has headers without end", "continues without end"],
)
def test_a_receiver_whose_answer_never_ends_has_a_problem(
    world: World, monkeypatch: pytest.MonkeyPatch, begin: bytes, part: bytes
) -> None:
    monkeypatch.setattr(receiver, "_TIMEOUT_SECONDS", 0.1)
    with endless_receiver(begin, part) as url, pytest.raises(PysyncError, match="does not answer"):
        Receiver(NotifyConfig(name="hook", url=url, secret_file=world.secret)).send([])


@contextmanager
def endless_receiver(begin: bytes, part: bytes) -> Iterator[str]:
    """A receiver that begins its answer so, and goes on with this part until nobody listens."""

    def answer() -> None:
        connected, _ = server.accept()
        with connected, suppress(OSError):
            connected.sendall(begin)
            while not ended.wait(0.001):
                connected.sendall(part)

    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True, name="endless receiver")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/hook"
        finally:
            ended.set()
            thread.join(20)


def test_only_what_a_target_now_has_is_sent(world: World) -> None:
    for outcome in ("parked", "failed", "held", "shadowed", "done", "refused", "unchanged"):
        world.write(f"db.{outcome}", outcome=outcome)
    world.write("db.again", outcome="unchanged", committed_at=1.0)  # applied before a crash, and again after it
    world.turn()
    assert world.changed() == ["db.again"]


def test_a_receiver_gets_what_it_asks_for(world: World) -> None:
    world.restart(targets=["dr"], databases=["sales_*", "HR"], events=["changes"])
    world.problems = [Problem("queue_full", "critical", "full")]
    world.write("sales_eu.a", "hr.b", "other.c", "sales.d")
    world.write("sales_eu.e", target="lake")
    world.turn()
    assert world.changed() == ["sales_eu.a", "hr.b"]
    assert world.receiver.of("problem.begun") == []


@pytest.mark.parametrize("status", [500, 503, 408, 429])
def test_an_outage_of_any_length_loses_nothing_and_keeps_the_order(world: World, status: int) -> None:
    world.receiver.answer = lambda _: status
    for first in range(0, 300, 100):
        world.write(*names(100, first))
        world.turn(HOUR)
    assert world.changed() == []
    world.receiver.answer = lambda _: 204
    world.turn(HOUR)
    assert world.changed() == names(300)


def test_a_receiver_that_is_away_is_tried_less_and_less_often(world: World) -> None:
    world.receiver.answer = lambda _: 500
    world.write("db.t")
    for _ in range(600):
        world.turn(1.0)
    assert 10 < len(world.receiver.refused) < 20


def test_a_receiver_that_refuses_connections_or_hangs_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "_TIMEOUT_SECONDS", 0.2)
    world.write(*names(3))
    world.receiver.answer = lambda _: None
    with pytest.raises(PysyncError, match="receiver hook does not answer"):
        world.notifier.turn()
    port = world.receiver.port
    world.receiver.close()
    world.seconds += HOUR
    with pytest.raises(PysyncError, match="receiver hook cannot be reached: Connection refused"):
        world.notifier.turn()
    world.receiver = WebhookReceiver(port)
    world.turn(HOUR)
    assert world.changed() == names(3)


def test_an_event_that_is_refused_for_long_is_skipped_and_no_other(world: World) -> None:
    def all_but_one(events: list[dict[str, Any]]) -> int:
        return 400 if any(it["data"].get("object") == "db.t0002" for it in events) else 204

    world.receiver.answer = all_but_one
    world.write(*names(5))
    with capture_logs() as logs:
        for _ in range(4):
            world.turn(notifier.REFUSED_SECONDS / 5)
        assert world.changed() == names(2)
        for _ in range(8):
            world.turn(notifier.REFUSED_SECONDS / 5)
    assert world.changed() == [*names(2), *names(2, first=3)]
    assert [it["id"] for it in logs if it["event"] == "webhook_event_skipped"] == ["3-1500000"]


def test_an_outage_does_not_count_as_refusal(world: World) -> None:
    world.write("db.t")
    for status in (400, 503, 400, 503, 400):
        world.receiver.answer = lambda _, status=status: status
        world.turn(notifier.REFUSED_SECONDS)
    world.receiver.answer = lambda _: 204
    world.turn(HOUR)
    assert world.changed() == ["db.t"]


def test_a_redirect_is_not_followed(world: World) -> None:
    world.receiver.answer = lambda _: 302
    world.write("db.t")
    with pytest.raises(EventsRefused, match="receiver hook answers 302"):
        world.notifier.turn()


def test_a_kill_repeats_events_with_their_ids_and_is_told_as_a_gap(world: World, monkeypatch: Any) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(world.notifier, "_save", lambda _: None)  # sent, and not written down
        world.write(*names(2))
        world.turn()
    world.begin()
    world.write(*names(2, first=2))
    world.turn()
    changes = [it["id"] for it in world.receiver.events if it["type"] == "pysync.change.applied"]
    assert (changes[:2], world.changed()) == (changes[2:4], [*names(2), *names(4)])
    assert [it.partition(":")[0] for it in world.gaps()] == ["the sidecar did not end in order"]


def test_a_kill_between_turns_repeats_nothing(world: World) -> None:
    for name in names(3):
        world.write(name)
        world.turn(0.3)
    world.begin()
    world.turn()
    assert (world.changed(), len(world.gaps())) == (names(3), 1)


def test_a_new_receiver_begins_now(world: World) -> None:
    world.write("db.before")
    world.begin(name="new")
    world.turn()
    world.write("db.after")
    world.turn()
    assert world.changed() == ["db.after"]


def trimmed(world: World) -> None:
    world.write(*names(120))
    world.journal.close()
    world.journal = Journal(world.journal.file, keep=1.0, max_bytes=10**9)
    world.write(*names(2, first=120), at=1e10)  # it keeps those, and the newest


def begun_anew(world: World) -> None:
    world.journal.close()
    world.journal.file.unlink()
    world.journal = Journal(world.journal.file, keep=1e12, max_bytes=10**9)
    world.write(*names(3, first=119), at=2.5)


@pytest.mark.parametrize(
    ("happens", "reason"),
    [(trimmed, "the journal no longer has these changes"), (begun_anew, "the journal was begun anew")],
)
def test_what_the_journal_does_not_keep_is_told_as_a_gap(
    world: World, happens: Callable[[World], None], reason: str
) -> None:
    world.write("db.first")
    world.turn()
    world.notifier.close(complete=True)
    happens(world)
    world.begin()
    world.turn()
    assert [it.partition(":")[0] for it in world.gaps()] == [reason]
    assert world.changed()[-1] == "db.t0121"
    world.turn()
    assert len(world.gaps()) == 1


def test_what_the_journal_could_not_keep_is_told_as_a_gap(world: World) -> None:
    world.dropped = 5
    world.turn()
    world.turn()
    assert world.gaps() == ["the journal could not be written for long: changes are missing"]


def test_a_problem_is_told_when_it_begins_and_when_it_ends(world: World) -> None:
    world.problems = [Problem("target_paused", "warning", "target dr is paused: x", target="dr", hint="resume")]
    world.turn()
    world.restart()
    world.turn()
    (begun,) = world.receiver.of("problem.begun")
    assert begun == world.problems[0].as_json()
    world.problems = []
    world.restart()
    world.turn()
    world.turn()
    assert (world.receiver.of("problem.begun"), world.receiver.of("problem.ended")) == ([begun], [begun])


def test_a_problem_whose_words_change_is_the_same(world: World) -> None:
    for seconds in (1, 2, 3):
        text = f"worker {{}} has been waiting for {seconds}m"
        world.problems = [
            Problem("worker_waiting", "warning", text.format(it), about=it) for it in ("poller", "healer")
        ]
        world.turn()
    assert len(world.receiver.of("problem.begun")) == 2
    world.problems = world.problems[1:]
    world.turn(2 * GRACE)
    assert [it["text"] for it in world.receiver.of("problem.ended")] == ["worker poller has been waiting for 1m"]


def test_what_began_and_ended_while_the_receiver_was_away_is_told(world: World) -> None:
    world.receiver.answer = lambda _: 500
    world.problems = [Problem("queue_full", "critical", "full")]
    world.turn()
    world.problems = []
    world.turn()
    world.begin()  # a kill in between
    world.turn()
    world.receiver.answer = lambda _: 204
    world.turn(HOUR)
    reported = [it["type"] for it in world.receiver.events if it["type"] != "pysync.gap"]
    assert reported == ["pysync.problem.begun", "pysync.problem.ended"]


def test_a_problem_of_the_time_between_two_tries_survives_a_kill(world: World) -> None:
    world.receiver.answer = lambda _: 500
    world.write("db.t")
    for _ in range(6):
        world.turn(100)
    tries = len(world.receiver.refused)
    world.problems = [Problem("queue_full", "critical", "full")]
    world.turn(6)
    world.problems = []
    world.begin()
    assert len(world.receiver.refused) == tries
    world.receiver.answer = lambda _: 204
    world.turn()
    assert (len(world.receiver.of("problem.begun")), len(world.receiver.of("problem.ended"))) == (1, 1)


def test_a_restart_does_not_end_a_problem_that_shows_only_with_time(world: World) -> None:
    late = Problem("target_waiting", "critical", "target dr has been waiting", target="dr")
    world.problems = [late]
    world.turn()
    world.restart()
    world.problems = []
    world.turn(GRACE / 2)
    assert world.receiver.of("problem.ended") == []
    world.turn(GRACE)
    assert len(world.receiver.of("problem.ended")) == 1


def test_a_receiver_is_not_told_that_it_is_away(world: World) -> None:
    world.problems = [Problem("worker_waiting", "warning", "…", about=f"notify-{name}") for name in ("hook", "other")]
    world.problems += [Problem("target_paused", "warning", "…", target="lake")]
    world.restart(targets=["dr"])
    world.turn()
    assert len(world.receiver.of("problem.begun")) == 1


def test_problems_that_come_and_go_for_long_are_bounded(world: World) -> None:
    world.receiver.answer = lambda _: 500
    for number in range(2 * notifier.MOST_WAITING):
        world.problems = [Problem("queue_full", "critical", "full")] if number % 2 else []
        world.turn()
    world.receiver.answer = lambda _: 204
    world.turn(HOUR)
    assert len(world.receiver.events) <= notifier.MOST_WAITING + 1
    assert world.gaps() == ["too much happened while the receiver was away"]


def test_a_receiver_that_is_removed_is_forgotten_and_the_others_are_not(world: World) -> None:
    other = ReceiverNotes(world.queue, ["hook", "other"])
    other.put("other", "x")
    assert (other.get("other"), world.queue.notes.get("notify:hook")) == ("x", None)
    kept = ReceiverNotes(world.queue, ["hook"])
    assert (kept.get("hook") is not None, kept.get("other")) == (True, None)
    assert ReceiverNotes(world.queue, ["hook", "other"]).get("other") is None
    world.write("db.t")
    world.turn()
    world.names = []
    world.restart()
    world.names = ["hook"]
    world.write("db.missed")
    world.restart()
    world.turn()
    assert world.changed() == ["db.t"], "one that comes back begins anew"


def test_the_status_counts_what_was_sent_and_what_was_not(world: World) -> None:
    world.write("db.a", "db.b")
    world.turn()
    counts = {"name": "hook", "delivered": 2, "failed": 0, "skipped": 0, "behind": 0}
    assert world.notifier.status() == {**counts, "last_contact": 1020.0}
    world.receiver.answer = lambda _: 500
    world.write("db.c")
    world.problems = [Problem("queue_full", "critical", "full")]
    world.turn()
    world.turn(HOUR)
    assert world.notifier.status() == {**counts, "failed": 2, "behind": 2, "last_contact": 1020.0}
    world.receiver.answer = lambda _: 400
    for _ in range(4):
        world.turn(HOUR)
    found = world.notifier.status()
    assert (found["skipped"], found["behind"]) == (2, 0)


def test_an_error_does_not_show_the_address(world: World) -> None:
    world.receiver.answer = lambda _: 500
    world.write("db.t")
    with pytest.raises(PysyncError) as failed:
        world.notifier.turn()
    assert str(failed.value) == "receiver hook answers 500"


def test_the_receiver_of_the_docs_takes_what_is_signed(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text()
    code = page.split("```python\n")[1].split("```")[0].partition("http.server.HTTPServer")[0]
    monkeypatch.chdir(world.directory)
    (world.directory / "webhook-secret").write_text(f"{SECRET}\n")
    exec(code, known := {})  # noqa: S102
    known["Handler"].log_message = lambda *_: None
    world.receiver.close()
    with http.server.ThreadingHTTPServer(("127.0.0.1", world.receiver.port), known["Handler"]) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        world.write("db.t")
        world.turn()
        world.secret.write_text("f" * 32)
        world.write("db.forged")
        with pytest.raises(EventsRefused, match="receiver hook answers 401"):
            world.notifier.turn()
        server.shutdown()
    out = capsys.readouterr().out
    assert ("'object': 'db.t'" in out, "forged" in out) == (True, False)
