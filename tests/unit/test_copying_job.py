"""`pysync copy`, `pysync verify --data`: where they copy to, what they remove, and that they ask the target first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.base.errors import UsageError
from pysync.config import Config
from pysync.copy.copy_round import Copied
from pysync.jobs import copying, verifying
from pysync.jobs.copying import CopyRequest, RefusedTable, copy_now
from pysync.jobs.verifying import Verification
from pysync.model.file_differences import FileDifference, FileStatus, Pair
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.sections import SourceConfig
from pysync.targets.settings import TargetSettings
from pysync.verify.findings import EQUAL, ComparedObject
from tests.support import table
from tests.support.refreshing import Hms, Target

TABLES = [TableName("db", "good"), TableName("db", "odd")]
POLICIES = [{"name": "odd", "include": ["db.odd"], "drops": "suppress"}, {"name": "rest", "include": ["db"]}]
GOOD, ODD = "file:/there/good", "file:/there/odd"


class Housed(Target):
    """Each of its databases has its files in file:/there/NAME.db."""

    def database(self, name: str) -> Any:
        return SimpleNamespace(locationUri=f"file:/there/{name}.db", parameters={})

    def close(self) -> None:
        pass


class Source:
    """Has tables db.good, which is never re-encoded, and db.odd, which is at `location`."""

    def __init__(self, location: str) -> None:
        self.places = {"good": "file:/here/good", "odd": location}

    def table(self, database: str, name: str) -> Any:
        parameters = {"skip.footer.line.count": "1"} if name == "good" else {}
        return table(database, name, location=self.places[name], parameters=parameters)

    def close(self) -> None:
        pass


class Copier:
    """Notes what it is asked to copy. Each directory of the target has one copied file that the source has no more."""

    def __init__(self) -> None:
        self.copied: list[Pair] = []
        self.tally = SimpleNamespace(status=dict)

    def copy(self, pairs: Sequence[Pair]) -> Copied:
        self.copied += pairs
        return Copied(files=len(pairs))

    def survey(self, pairs: Sequence[Pair]) -> list[FileDifference]:
        return [FileDifference(it, exists=True, extras=[FileStatus(it, "old", 1, 0)]) for it in pairs]


class Ends:
    """A source with db.good and db.odd, which is at a location of it, and a target that has some tables."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, location: str, there: Hms | None = None, **values: Any) -> None:
        settings = {"name": "dr", "kind": "hms", "copy": True, "locations": {"file:/here": "file:/there"}, **values}
        self.target = TargetSettings.model_validate(settings)
        second = TargetSettings.model_validate({**settings, "name": "second", "databases": {"*": "second_*"}})
        source = SourceConfig(name="onprem", metastore="thrift://here:1")
        self.config = Config(source=source, targets=(self.target, second))
        self.copier = Copier()
        copies = SimpleNamespace(copiers={"dr": self.copier}, reencoders={}, close=lambda: None)
        monkeypatch.setattr(copying, "Copies", lambda *_: copies)
        monkeypatch.setattr(copying, "Metastore", lambda _: Source(location))
        monkeypatch.setattr(copying, "target_kind", lambda _: SimpleNamespace(open=lambda _: Housed(there)))

    def copy(self, **how: bool) -> tuple[Copied, list[RefusedTable]]:
        return copy_now(self.config, "dr", CopyRequest(TABLES, **how), lambda _: None)

    @property
    def removals(self) -> dict[str, bool]:
        """Where it was copied to, and whether copied files that the source no longer has go there."""
        return {it.target: it.removes_extras for it in self.copier.copied}


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Copies between two `Ends`; returns the target locations that were copied to, and why tables were refused."""

    def run(location: str, there: Hms | None = None, **values: Any) -> tuple[list[str], dict[str, str]]:
        ends = Ends(monkeypatch, location, there, **values)
        _, refused = ends.copy()
        return [it.target for it in ends.copier.copied], {str(it.table): str(it.reason) for it in refused}

    return run


@pytest.mark.parametrize("location", ["file:/here/new.db", "file:///here/new.db/", "file:/here"])
def test_no_file_is_copied_by_hand_to_a_directory_that_other_tables_share(copied: Any, location: str) -> None:
    places, refused = copied(location, databases={"db": "new"})
    assert places == ["file:/there/good"]
    assert "is not the directory of one table alone" in refused["db.odd"]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"exclude": ["db.odd"]}, "exclude 'db.odd'"),
        ({"include_types": ["VIRTUAL_VIEW"]}, "include_types does not have"),
    ],
)
def test_a_named_table_that_the_target_does_not_take_is_not_copied(
    copied: Any, values: dict[str, Any], rule: str
) -> None:
    with pytest.raises(UsageError, match=f"target 'dr' does not take db\\..*: {rule}"):
        copied("file:/here/odd", **values)


def test_a_table_that_is_re_encoded_does_not_keep_others_from_being_copied(copied: Any) -> None:
    places, refused = copied("file:/here/odd", copy={"rewrite": "parquet"})
    assert (places, list(refused)) == (["file:/there/good"], ["db.odd"])
    assert "re-encoded files cannot be compared byte for byte" in refused["db.odd"]


def test_other_tables_are_copied_by_hand(copied: Any) -> None:
    assert copied("file:/here/odd") == (["file:/there/good", "file:/there/odd"], {})


OURS = Mark("onprem", 5, 1, 100, object="db.odd", target="dr")


@pytest.mark.parametrize(
    ("mark", "reason"),
    [
        (OURS, None),
        (replace(OURS, life=9, position=99), None),
        (None, "is not from this source"),
        (replace(OURS, source="elsewhere"), "is not from this source"),
        (replace(OURS, object="db.other"), "is the copy of db.other"),
        (replace(OURS, target="second"), "where the target 'second' has its copy of db.odd"),
    ],
)
def test_no_file_is_copied_by_hand_over_those_of_a_table_that_is_not_this_one(
    copied: Any, mark: Mark | None, reason: str | None
) -> None:
    there = Hms()
    there.add("db.odd", parameters=mark.parameters() if mark else {})
    places, refused = copied("file:/here/odd", there)
    assert places == ["file:/there/good", "file:/there/odd"][: 1 if reason else 2]
    assert refused == {} if reason is None else reason in refused["db.odd"]


def test_a_table_of_others_that_is_adopted_gets_its_files_by_hand(copied: Any) -> None:
    there = Hms()
    there.add("db.odd", parameters={})
    assert copied("file:/here/odd", there, on_conflict="adopt") == (["file:/there/good", "file:/there/odd"], {})


@pytest.mark.parametrize(
    ("delete", "values", "removals"),
    [
        (True, {"policies": POLICIES}, {GOOD: True, ODD: False}),
        (False, {"policies": POLICIES}, {GOOD: False, ODD: False}),
        (True, {"drops": "suppress"}, {GOOD: False, ODD: False}),
    ],
)
def test_files_go_by_hand_only_if_that_is_asked_for_and_drops_are_not_suppressed(
    delete: bool, values: dict[str, Any], removals: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = Ends(monkeypatch, "file:/here/odd", **values)
    assert ends.copy(delete=delete, dry_run=True)[0].removed == sum(removals.values())
    assert ends.removals == {}
    ends.copy(delete=delete)
    assert ends.removals == removals


def test_files_whose_drops_are_suppressed_are_no_drift_and_no_repair_removes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = Ends(monkeypatch, "file:/here/odd", policies=POLICIES)
    tables = [ComparedObject("table", str(it), EQUAL, source=str(it)) for it in TABLES]
    monkeypatch.setattr(verifying, "comparison", lambda *_: SimpleNamespace(run=lambda *_: tables))
    verification = Verification(ends.config, ends.target, data=True)
    files = [it for it in verification.run(None, lambda *_: None) if it.kind == "files"]
    assert [(it.source, it.drift, it.excuse) for it in files] == [
        ("db.good", True, ""),
        ("db.odd", False, "drops are suppressed"),
    ]
    verification.copy_files(files, lambda *_: None)  # as if db.odd lacked a file
    assert ends.removals == {GOOD: True, ODD: False}
