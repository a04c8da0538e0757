"""`pysync parked …` against a real sidecar whose target refuses a table."""

from __future__ import annotations

import base64
import json

import pytest

from pysync.model.event import Kind
from pysync.model.wire import decode_event
from tests.support.drains import create, create_database
from tests.support.sidecars import FaultyPlace, assert_one_line, pysync, send, sidecar, wait_for

EVENTS = (create_database(), create("db.bad"), create("db.good"), create("db.bad"))


@pytest.fixture
def place(tmp_path):
    return FaultyPlace(tmp_path)


@pytest.fixture
def running(place, request):
    """A sidecar whose target refuses db.bad as often as the test's parameter says."""
    times = getattr(request, "param", 1)
    fault = f'{{ kind = "refuse", tables = ["db.bad"], times = {times} }}'
    place.write(more=f"parked_retry_seconds = 0\nfaults = [{fault}]\n")
    with sidecar(place) as started:
        send(started, *EVENTS)
        wait_for(started, queued=0, parked=2)
        yield started


def test_list_shows_table_by_table_what_is_parked(place, running):
    (table,) = place.ask("parked", "list", "try")["tables"]
    assert (table["table"], table["events"], table["position"], table["kind"]) == ("db.bad", 2, 2, "rejected")
    assert (table["attempts"], "refused db.bad" in table["reason"]) == (1, True)
    done = pysync("parked", "list", "try", "-c", place.file)
    assert (done.returncode, done.stderr, "db.bad" in done.stdout) == (0, "", True)


def test_show_tells_all_of_one_event(place, running):
    shown = place.ask("parked", "show", "try", 2)
    assert (shown["event"]["kind"], shown["tables"], shown["kind"]) == ("CREATE_TABLE", ["db.bad"], "rejected")
    assert decode_event(base64.b64decode(shown["data"])).kind is Kind.CREATE_TABLE
    done = pysync("parked", "show", "try", 2, "-c", place.file)
    assert (done.returncode, "CREATE_TABLE" in done.stdout) == (0, True)
    assert_one_line(pysync("parked", "show", "try", 3, "-c", place.file), 1, "event 3 is not parked", "parked list")


def test_retry_after_the_cause_is_gone_applies_them(place, running):
    done = pysync("parked", "retry", "try", "-c", place.file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "applied: 2 of 2 events\n", "")
    assert running.status()["targets"][0]["parked"] == 0
    assert place.ask("parked", "list", "try")["tables"] == []


@pytest.mark.parametrize("running", [100], indirect=True)
def test_retry_of_what_is_still_refused_ends_with_1_and_the_reason(place, running):
    done = pysync("parked", "retry", "try", "--table", "DB.Bad", "-c", place.file)
    assert (done.returncode, done.stdout) == (1, "applied: 0 of 2 events\n")
    assert "still parked: 2 events: refused db.bad" in done.stderr
    assert place.ask("parked", "retry", "try", code=1)["left"] == 2


def test_skip_asks_first_and_gives_up_for_good(place, running):
    done = pysync("parked", "skip", "try", 2, "-c", place.file)
    assert (done.returncode, done.stdout.strip(), "skipped for good" in done.stderr) == (1, "", True)
    assert done.stderr.endswith("pysync: stopped: the question was not answered; give --yes\n")
    assert running.status()["targets"][0]["parked"] == 2
    done = pysync("parked", "skip", "try", 2, "--yes", "-c", place.file)
    assert (done.returncode, done.stdout) == (0, "skipped: 1 event\napplied: 1 of 1 event\n")
    assert running.status()["targets"][0]["parked"] == 0


def test_skip_of_a_table(place, running):
    answer = place.ask("parked", "skip", "try", "--table", "db.bad", "--yes")
    assert (answer["skipped"], answer["left"]) == (2, 0)


@pytest.mark.parametrize("arguments", [[], [2, "--table", "db.bad"]])
def test_skip_wants_one_of_position_and_table(place, arguments):
    done = pysync("parked", "skip", "try", *arguments, "--yes", "-c", place.file)
    assert_one_line(done, 2, "POSITION", "--table")


@pytest.mark.parametrize("name", ["list", "retry"])
def test_a_target_that_there_is_not_is_wrong_usage(place, name):
    assert_one_line(pysync("parked", name, "tri", "-c", place.file), 2, "no target 'tri'", "did you mean try?")
    assert_one_line(pysync("parked", name, "dr", "-c", place.file), 2, "no target 'dr'", "its targets: try")


@pytest.mark.parametrize("arguments", [("retry", "try"), ("skip", "try", "--yes")])
def test_a_misspelt_table_is_told_with_the_one_that_is_meant(place, running, arguments):
    done = pysync("parked", *arguments, "--table", "db.bda", "-c", place.file)
    assert_one_line(done, 1, "table db.bda has no parked events; did you mean db.bad?")
    assert running.status()["targets"][0]["parked"] == 2
    done = pysync("parked", *arguments, "--table", "sales.orders", "-c", place.file)
    assert_one_line(done, 1, "table sales.orders has no parked events; see: pysync parked list try")


def test_a_misspelt_listener_is_told_with_the_one_that_is_meant(place, running):
    (listener,) = running.status()["listeners"]
    done = pysync("listener", "remove", listener["instance"][:-1], "-c", place.file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"; did you mean {listener['instance']}?\n")
    done = pysync("listener", "remove", "?", "-c", place.file)
    assert done.stdout == f"there is no listener '?'; listeners: {listener['instance']}\n"


def test_many_tables_are_listed_retried_and_skipped_by_pattern_and_reason(place):
    names = [f"db.bad_{number}" for number in range(8)]
    faults = [f'{{ kind = "refuse", tables = ["{name}"], times = 3 }}' for name in [*names, "db.odd"]]
    place.write(more=f"parked_retry_seconds = 0\nfaults = [{', '.join(faults)}]\n")
    with sidecar(place) as started:
        send(started, create_database(), *map(create, names), create(names[0]), create("db.odd"))
        wait_for(started, queued=0, parked=10)
        done = pysync("parked", "list", "try", "-c", place.file)
        assert done.stdout.startswith("target try: 10 events of 9 tables parked, 1 reason\n")
        assert max(map(len, done.stdout.splitlines())) <= 80, "one block for one reason, as wide as a terminal"
        assert len(done.stdout.splitlines()) < 15
        assert "and 4 more tables" in done.stdout
        every = pysync("parked", "list", "try", "--all", "-c", place.file).stdout
        assert [name for name in [*names, "db.odd"] if name not in every] == []
        listed = place.ask("parked", "list", "try", "--table", "db.bad_*")
        assert ([it["table"] for it in listed["tables"]], listed["groups"][0]["tables"]) == (names, 8)

        answer = place.ask("parked", "retry", "try", "--table", "db.bad_[12]", code=1)
        assert (answer["tried"], answer["left"], answer["finished"]) == (2, 2, True)
        answer = place.ask("parked", "retry", "try", "--reason", "refused", code=1)
        assert (answer["tried"], answer["left"]) == (10, 10)
        done = pysync("parked", "skip", "try", "--table", "db.bad_*", "--reason", "refused", "-c", place.file)
        assert "9 events of 8 tables (db.bad_0, db.bad_1" in done.stderr, "who skips sees what"
        assert started.status()["targets"][0]["parked"] == 10
        answer = place.ask("parked", "skip", "try", "--table", "db.bad_*", "--reason", "refused", "--yes")
        assert (answer["skipped"], answer["left"], answer["finished"]) == (9, 0, True)
        assert [it["table"] for it in place.ask("parked", "list", "try")["tables"]] == ["db.odd"]
        done = pysync("parked", "retry", "try", "--reason", "no such", "-c", place.file)
        assert_one_line(done, 1, "nothing that is parked fits")


def test_without_a_sidecar_it_says_so(place):
    assert_one_line(pysync("parked", "list", "try", "-c", place.file), 1, "no sidecar runs")


def test_a_retry_that_has_to_wait_ends_with_1_and_goes_on_in_the_sidecar(place):
    place.write(
        more='parked_retry_seconds = 0\nfaults = [{ kind = "refuse", tables = ["db.bad"], times = 1 }, '
        '{ kind = "hang", tables = ["db.bad"], times = 1, seconds = 10 }]\n'
    )
    with sidecar(place) as started:
        send(started, *EVENTS)
        wait_for(started, queued=0, parked=2)
        done = pysync("parked", "retry", "try", "-c", place.file)
        assert_one_line(done, 1, "not tried yet", "does not answer")
        wait_for(started, parked=0)


def test_json_of_an_empty_list(place):
    with sidecar(place):
        assert json.loads(pysync("parked", "list", "try", "-c", place.file, "--json").stdout)["tables"] == []
