"""Sessions and tries of passwords: bounded, and over in time."""

from __future__ import annotations

from pysync.web.sessions import (
    FAILURE_SECONDS,
    LIFE_SECONDS,
    MOST_FAILURES,
    MOST_SESSIONS,
    Attempts,
    PageMessage,
    Session,
    Sessions,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_found_by_its_secret_alone() -> None:
    sessions = Sessions()
    secret = sessions.begin("alice", "hash")
    found = sessions.get(secret)
    assert found is not None
    assert (found.user, found.proof) == ("alice", "hash")
    assert [sessions.get(it) for it in ("", None, secret[:-1], found.csrf)] == [None] * 4


def test_no_two_sessions_share_a_secret_or_a_token() -> None:
    sessions = Sessions()
    secrets = [sessions.begin("alice", "hash") for _ in range(50)]
    tokens = {found.csrf for it in secrets if (found := sessions.get(it))}
    assert len({*secrets, *tokens}) == 100


def test_a_session_ends_in_time_and_by_hand() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    first, second = sessions.begin("a", "h"), sessions.begin("b", "h")
    sessions.end(first)
    sessions.end(first)
    assert (sessions.get(first), sessions.get(second) is None) == (None, False)
    clock.now += LIFE_SECONDS
    assert sessions.get(second) is None


def test_of_too_many_sessions_the_oldest_gives_way() -> None:
    sessions = Sessions()
    secrets = [sessions.begin("alice", "hash") for _ in range(MOST_SESSIONS + 5)]
    assert [sessions.get(it) is None for it in secrets] == [True] * 5 + [False] * MOST_SESSIONS


def test_a_message_is_shown_once_and_they_are_few() -> None:
    session = Session("alice", "hash", 0.0)
    for at in range(20):
        session.messages.append(PageMessage("good", str(at)))
    assert [it.text for it in session.taken()] == ["15", "16", "17", "18", "19"]
    assert session.taken() == []


def test_wrong_passwords_are_few_in_a_minute() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    assert [attempts.wait() for _ in range(MOST_FAILURES)] == [0.0] * MOST_FAILURES
    clock.now += 20
    assert attempts.wait() == FAILURE_SECONDS - 20
    clock.now += FAILURE_SECONDS - 20
    assert attempts.wait() == 0.0


def test_right_passwords_take_no_place() -> None:
    attempts = Attempts(Clock())
    for _ in range(5 * MOST_FAILURES):
        assert attempts.wait() == 0.0
        attempts.succeeded()
