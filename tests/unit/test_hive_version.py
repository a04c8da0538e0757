"""Which version of Hive the source is of: what listeners report, what is kept of it, and whom views believe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.capture.gaps import GapWatch
from pysync.capture.hive_version import FoundVersion, ask_version, stored_version, valid_version
from pysync.capture.roll import Roll
from pysync.config import load_config
from pysync.queue import EventQueue
from pysync.targets.source_hive import SourceHive, release_of
from tests.support.queues import Reopener

SILENCE = 15.0
FILE = """
[source]
name = "onprem"
{more}
[queue]
directory = "{queue}"
[[targets]]
name = "catalog"
kind = "glue"
region = "eu-west-1"
[[targets]]
name = "lake"
kind = "athena"
region = "us-east-1"
work_group = "etl"
"""


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.3.10", "2.3"),
        ("2.3.9-amzn-2", "2.3"),
        ("3.1.3", "3.1"),
        ("3.1.3000.7.1.9.0-387", "3.1"),
        ("4.0.1", "4"),
        ("4.2.0", "4"),
        ("4.0.0-beta-1", "4"),
        ("3.0", None),
        ("2.1.1", None),
        ("1.2.1000.2.6.5.0-292", None),
        ("2.30", None),
        ("40.1", None),
        ("", None),
    ],
)
def test_a_version_belongs_to_a_release(version: str, release: str | None) -> None:
    assert release_of(version) == release
    assert SourceHive(found_version=lambda: version).release() == release


def test_what_is_set_overrides_what_is_found() -> None:
    hive = SourceHive("3.1", found_version=lambda: "2.3.10")
    assert (hive.release(), hive.as_json()) == ("3.1", '{"hive_version": "3.1"}')
    assert SourceHive().as_json() == "{}"


def test_it_may_be_said_that_the_version_is_not_known() -> None:
    """As where several releases run the queries: what the listener reports does not count then."""
    hive = SourceHive("unknown", found_version=lambda: "2.3.10")
    assert (hive.release(), hive.as_json(), hive.unexpected()) == (None, "{}", None)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("3.1.3", None),
        (None, "the version of the source's Hive is not known"),
        ("1.2.1", "the source's Hive is 1.2.1, whose views are not known"),
    ],
)
def test_a_version_of_no_known_release_is_named(found: str | None, words: str | None) -> None:
    assert SourceHive(found_version=lambda: found).unexpected() == words


@pytest.mark.parametrize("value", [None, 4, ["2.3"], "", "Unknown", "2.3 10", "2" * 65, "3.1\n", "\uff13.1"])
def test_what_is_no_version_is_not_believed(value: object) -> None:
    assert valid_version(value) == ""


class Metastores:
    """What the listeners of metastores of `onprem` report to a sidecar, whose clock the test moves."""

    def __init__(self, queue: EventQueue) -> None:
        self.found, self.now = FoundVersion(queue, "onprem"), 0.0
        self.watch = GapWatch(queue, SILENCE, hive=self.found)
        self.watch.roll = Roll(queue, SILENCE, clock=lambda: self.now)

    def report(self, instance: str, hive: object, source: str = "onprem") -> None:
        report = {"instance": instance, "source": source, "sequence": 0, "waiting": 0, "hive": hive}
        assert self.watch.report(json.dumps(report))

    def after(self, seconds: float = 2.0) -> str | None:
        """The version that is found so many seconds later."""
        self.now += seconds
        self.watch.check(min(seconds, 2.0))
        return self.found.version()


def test_what_a_listener_reports_is_found_and_outlives_the_sidecar(reopen: Reopener) -> None:
    metastores = Metastores(reopen())
    assert metastores.after() is None
    metastores.report("a", "2.3.10")
    metastores.report("other", "4.0.1", source="elsewhere")
    assert metastores.after() == "2.3.10"
    versions = {it["instance"]: it["hive_version"] for it in metastores.watch.roll.status([])}
    assert versions == {"a": "2.3.10", "other": "4.0.1"}
    assert Metastores(reopen()).found.version() == "2.3.10"


def test_a_report_without_a_version_counts_all_the_same(reopen: Reopener) -> None:
    metastores = Metastores(reopen())
    metastores.report("a", "x" * 100)
    assert metastores.after() is None
    assert [it["hive_version"] for it in metastores.watch.roll.status([])] == [None]


def test_a_rolling_upgrade_changes_it_once_at_its_end(reopen: Reopener) -> None:
    metastores = Metastores(reopen())
    metastores.report("a", "3.1.3")
    metastores.report("b", "3.1.3")
    seen = [metastores.after()]
    for others in (("3.1.3", "4.0.1"), ("4.0.1", "3.1.3"), ("4.0.1", "4.0.1"), ("4.0.1", "4.1.0")):
        for name, version in zip("ab", others, strict=True):
            metastores.report(name, version)
        seen.append(metastores.after())
    assert seen == ["3.1.3", "3.1.3", "3.1.3", "4.0.1", "4.0.1"]


def test_after_a_restart_nothing_changes_before_all_have_reported(reopen: Reopener) -> None:
    """Else the one that reports first would change it."""
    before = Metastores(reopen())
    before.report("a", "3.1.3")
    before.report("b", "4.0.1")
    assert before.after() == "3.1.3"
    metastores = Metastores(reopen())
    metastores.report("b", "4.0.1")
    assert metastores.after() == "3.1.3"
    metastores.report("b", "4.0.1")
    metastores.now += SILENCE  # the other one does not come back
    metastores.report("b", "4.0.1")
    assert metastores.after() == "4.0.1"


@pytest.mark.parametrize(("answer", "found"), [("4.0.1", "4.0.1"), ("3.0", None), ("Unknown", None), (None, None)])
def test_a_metastore_without_a_listener_is_asked(reopen: Reopener, answer: str | None, found: str | None) -> None:
    """Before Hive 4 each answers 3.0, whatever it is; and some do not answer."""

    @contextmanager
    def source() -> Iterator[Any]:
        if answer is None:
            raise PysyncError("cannot read the source")
        yield SimpleNamespace(version=lambda: answer)

    version = FoundVersion(reopen(), "onprem")
    ask_version(version, source)
    assert version.version() == found


def test_a_command_reads_it_in_the_queue_of_a_sidecar_that_rests(reopen: Reopener, tmp_path: Path) -> None:
    queue = reopen()
    FoundVersion(queue, "onprem").note(["3.1.3"])
    with pytest.raises(PysyncError):  # in use, and nobody answers
        stored_version(tmp_path, "onprem")
    queue.close()
    assert stored_version(tmp_path, "onprem") == "3.1.3"
    assert stored_version(tmp_path, "other") is None
    assert stored_version(tmp_path / "none", "onprem") is None


@pytest.mark.parametrize(("more", "release"), [("", "3.1"), ('hive_version = "4"', "4")])
def test_every_target_of_a_file_reads_views_of_that_hive(
    reopen: Reopener, tmp_path: Path, more: str, release: str
) -> None:
    queue = reopen()
    FoundVersion(queue, "onprem").note(["3.1.3"])
    queue.close()
    file = tmp_path / "pysync.toml"
    file.write_text(FILE.format(more=more, queue=tmp_path))
    glue, athena = load_config(file).targets
    assert [it.source_hive.release() for it in (glue, athena)] == [release, release]
    assert athena.of_glue().source_hive is athena.source_hive  # type: ignore[attr-defined]
