"""`pysync copy`: where it copies to, and that it asks the target first."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.base.errors import UsageError
from pysync.config import Config
from pysync.copy.copy_round import Copied
from pysync.jobs import copying
from pysync.jobs.copying import CopyRequest, copy_now
from pysync.model.file_differences import Pair
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.sections import SourceConfig
from pysync.targets.settings import TargetSettings
from tests.support import table
from tests.support.refreshing import Hms, Target


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


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Copies db.good and db.odd, which is at a location of the source, to a target that has some tables.

    Returns the target locations that were copied to, and why tables were refused.
    """

    def run(location: str, there: Hms | None = None, **values: Any) -> tuple[list[str], dict[str, str]]:
        settings = {"name": "dr", "kind": "hms", "copy": True, "locations": {"file:/here": "file:/there"}, **values}
        target = TargetSettings.model_validate(settings)
        second = TargetSettings.model_validate({**settings, "name": "second", "databases": {"*": "second_*"}})
        config = Config(source=SourceConfig(name="onprem", metastore="thrift://here:1"), targets=(target, second))
        pairs: list[Pair] = []
        copier = SimpleNamespace(
            copy=lambda some, *, delete: (pairs.extend(some), Copied(files=len(some)))[1],  # noqa: ARG005
            tally=SimpleNamespace(status=dict),
        )
        copies = SimpleNamespace(copiers={"dr": copier}, close=lambda: None)
        monkeypatch.setattr(copying, "Copies", lambda *_: copies)
        monkeypatch.setattr(copying, "Metastore", lambda _: Source(location))
        monkeypatch.setattr(copying, "target_kind", lambda _: SimpleNamespace(open=lambda _: Housed(there)))
        tables = [TableName("db", "good"), TableName("db", "odd")]
        _, refused = copy_now(config, "dr", CopyRequest(tables), lambda _: None)
        return [it.target for it in pairs], {str(it.table): str(it.reason) for it in refused}

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
