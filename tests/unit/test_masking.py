"""Masking: of values as people have them, the secrets are hidden and the harmless ones are shown."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from pysync.base import logs
from pysync.base.masking import HIDDEN, is_secret, is_secret_field, masked
from pysync.cli.output import write_private
from pysync.journal.record import bounded, reason_of
from pysync.model.difference import Difference
from pysync.queue import Queued
from pysync.replay.progress import Progress
from pysync.replay.window.blocks import Refusal
from pysync.verify.findings import DIFFERENT, ComparedObject
from pysync.verify.report import Report, junit
from pysync.worker import Worker
from tests.support.secret_values import HARMLESS_NAMES, HARMLESS_TEXTS, PLAIN, SECRET, SECRET_NAMES, SECRET_TEXTS


def test_the_corpus_is_large() -> None:
    assert len(SECRET_NAMES) + len(SECRET_TEXTS) >= 440
    assert len(HARMLESS_NAMES) + len(HARMLESS_TEXTS) >= 290


def test_a_value_of_a_secret_name_is_hidden() -> None:
    for name in SECRET_NAMES:
        field = f"sd.serdeInfo.parameters.{name}"
        assert str(Difference(field, SECRET, "other")) == f"{field}: *** instead of ***"
        assert str(Difference(field, None, SECRET)) == f"{field}: nothing instead of ***"
        (found,) = bounded([Difference(field, None, SECRET)])
        assert (found.old, found.new) == (None, HIDDEN), name
        for text in (
            f"{name}={SECRET}", json.dumps({name: f"{SECRET} x"}), f"{name}: '{SECRET}' x", f"--{name} {SECRET}",
        ):  # fmt: skip
            assert SECRET not in masked(text), text


def test_a_value_of_a_harmless_name_is_shown() -> None:
    for name in HARMLESS_NAMES:
        assert str(Difference(f"parameters.{name}", "a", "b")) == f"parameters.{name}: 'a' instead of 'b'"
        for text in (f"{name}=value", json.dumps({name: "value"}), f"{name}: value"):
            assert masked(text) == text


def test_a_secret_in_a_text_is_hidden() -> None:
    for text in SECRET_TEXTS:
        for found in (masked(text), str(Difference("sd.location", text, None)), str(reason_of(text))):
            assert (SECRET[-8:] in found, PLAIN[-8:] in found, HIDDEN in found) == (False, False, True), text
        assert masked(masked(text)) == masked(text)


def test_a_harmless_text_is_shown() -> None:
    assert [text for text in HARMLESS_TEXTS if masked(text) != text] == []


@pytest.mark.parametrize("field", ["partition token=1: sd.location", "sd.cols", "partition pwd=x: owner"])
def test_the_name_of_a_table_or_partition_hides_nothing(field: str) -> None:
    assert not is_secret_field(field)
    assert is_secret_field(f"{field}: parameters.password")


@given(
    st.sampled_from(
        ["jdbc:mysql://me:{}@host/db", "password = {};ssl=true", '{{"secret": "{}"}}', "https://x/y?sig={}"]
    ),
    st.text(min_size=8, max_size=60, alphabet="abcXYZ0123456789+%"),
    st.text(alphabet=" xyz", max_size=300),
)
def test_no_secret_is_shown_whatever_it_is(form: str, secret: str, before: str) -> None:
    assert secret not in masked(before + form.format(secret))


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    assert isinstance(masked(text), str)
    is_secret(text)


def compared() -> ComparedObject:
    fields = (str(Difference("parameters.es.net.http.auth.pass", SECRET, "other")),)
    fields += (str(Difference("sd.location", f"s3a://A:{SECRET}@b/c", "s3a://b/c")),)
    return ComparedObject("table", "db.t", DIFFERENT, fields=fields)


def test_two_secrets_that_differ_are_a_difference_and_no_report_shows_them() -> None:
    report = Report("dr", "hms", [compared()])
    found = report.as_json()
    assert found["drift"] == 1
    assert found["differences"][0]["fields"][0] == "parameters.es.net.http.auth.pass: *** instead of ***"
    for text in (json.dumps(found), junit([report]).decode()):
        assert SECRET not in text


def test_only_its_owner_may_read_a_report(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text("former")
    file.chmod(0o644)
    for it in (file, tmp_path / "new.html"):
        write_private(it, b"report", "--junit")
        assert (it.read_bytes(), oct(it.stat().st_mode & 0o777)) == (b"report", "0o600")


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_line_of_the_log_shows_a_secret(form: Any) -> None:
    error = io.StringIO()
    with redirect_stderr(error):
        logs.configure("info", form)
        try:
            structlog.get_logger().info(
                "table_refused",
                reason=f"403 for s3a://A:{SECRET}@b/c",
                parameters={"es.net.http.auth.pass": SECRET, "numRows": "5"},
                error=ValueError(f"password={SECRET}"),
                several=[f"Authorization: Bearer {SECRET}"],
            )
        finally:
            structlog.reset_defaults()
    assert SECRET not in error.getvalue()
    assert "table_refused" in error.getvalue()
    assert "numRows" in error.getvalue()


def test_no_reason_of_a_refused_event_shows_a_secret() -> None:
    event = Queued(position=1, at_ms=0, data=b"")
    refusal = Refusal.of(event, frozenset({"db.t"}), "rejected", f"cannot write s3a://A:{SECRET}@b/c: 403")
    assert refusal.reason == "cannot write s3a://***@b/c: 403"


def test_no_error_of_a_target_or_a_worker_shows_a_secret() -> None:
    progress = Progress("dr", "hms")
    progress.refused(f"first line\npassword={SECRET}")
    assert progress.status()["last_error"]["reason"] == "password=***"
    worker = Worker("x", lambda: None, every=1, retry=1)
    worker.waits(f"403: password={SECRET}")
    assert worker.status()["last_error"]["reason"] == "403: password=***"
