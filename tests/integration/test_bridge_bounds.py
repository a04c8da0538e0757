"""What a caller with the secret may send, and how much of it: what no listener sends has one word for an answer."""

from __future__ import annotations

import base64

import pytest

from pysync.model.wire import encode_event
from tests.integration.test_bridge import UNLOGGED, Stand, payload
from tests.support.events import create_table

DIGITS = "9" * 5000
DEEP = "[" * 200_000


@pytest.fixture
def stand(tmp_path):
    built = Stand(tmp_path)
    yield built
    built.close()


@pytest.mark.parametrize(
    "arguments",
    [
        ("i5",),
        ("d1.5",),
        ("bTrue",),
        ("n",),
        ("j" + base64.b64encode(b"x").decode(),),
        ("ro123",),
        ("lo1",),
        ("f;x",),
        (f"i{DIGITS}",),
        (f"L{DIGITS}",),
        (f"d{DIGITS}",),
        (f"D1e{DIGITS}",),
        ("",),
        (),
        (f"s{payload(1)}", "ro123"),
    ],
    ids=lambda arguments: "-".join(arguments)[:12],
)
def test_what_is_not_strings_is_refused_in_a_word(stand, arguments):
    """py4j's own server made numbers and references of them, and answered with its traceback."""
    assert stand.caller().call("append", *arguments) == "!xsbad_arguments"
    assert stand.events() == 0
    stand.check_well()


def test_too_many_arguments_end_the_connection(stand):
    assert stand.caller().append(*[payload(1)] * 1000) == "queued"
    assert stand.caller().call("append", *["sx"] * 1025) == ""
    assert stand.queue.intake.unreadable() == []
    stand.check_well()


def test_whatever_a_method_raises_the_caller_gets_a_word_and_the_log_no_payload(stand, monkeypatch, capfd):
    def fail(_events):
        raise KeyError(UNLOGGED)

    monkeypatch.setattr(stand.queue.intake, "append_all", fail)
    assert stand.caller().call("append", f"s{payload(1)}") == "!xsfailed"
    written = "".join(capfd.readouterr())
    assert "call_failed" in written
    assert UNLOGGED not in written


def told(instance: str = '"x"', sequence: str = "1", waiting: str = "0", source: str = "s") -> str:
    """A report, of JSON texts."""
    return f'{{"instance": {instance}, "source": "{source}", "sequence": {sequence}, "lost": 0, "waiting": {waiting}}}'


@pytest.mark.parametrize(
    "report",
    [
        "",
        "{}",
        "null",
        "7",
        DEEP,
        DEEP.replace("[", '{"a":'),
        DIGITS,
        told(sequence=DIGITS[:4000]),
        told(waiting=DIGITS[:4000]),
        told(sequence=str(2**53 + 1)),
        told(sequence="-1"),
        told(sequence="1e300"),
        told(sequence='"1"'),
        told(sequence="true"),
        told(instance=f'"{"x" * 201}"'),
        told(source="x" * 70_000),
    ],
    ids=lambda report: report[:80],
)
def test_a_report_that_no_listener_gives_is_unreadable_and_leaves_nothing(stand, report):
    """One of 4,000 digits was noted, and told as a gap in a line of 4,000 digits."""
    assert stand.caller().call("report", f"s{report}") == "!ysunreadable"
    stand.bridge._reception._watch.check(60.0)
    assert stand.queue.gaps.latest() == []
    stand.check_well()


def test_a_report_as_listeners_give_it_is_noted(stand):
    assert stand.caller().call("report", f"s{told()}") == "!ysok"


@pytest.mark.parametrize(
    "fields",
    [
        {"sequence": 2**53 + 1},
        {"sequence": 2**63 - 1},
        {"time_ms": -1},
        {"time_ms": 2**63 - 1},
        {"instance": "x" * 201},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_an_event_with_numbers_that_no_listener_gives_is_left_aside(stand, fields):
    odd = create_table("db.t", **{"sequence": 1, **fields})
    assert stand.caller().append(base64.b64encode(encode_event(odd)).decode()) == "unreadable"
    assert (stand.events(), len(stand.queue.intake.unreadable())) == (0, 1)
    stand.check_well()
