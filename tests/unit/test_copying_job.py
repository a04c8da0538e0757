"""`pysync copy`: where it copies to, and that it asks the target first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pysync.config import Config
from pysync.copy.requests import Pair
from pysync.copy.run import Copied
from pysync.jobs import copying
from pysync.jobs.copying import Wanted, copy_now
from pysync.model.names import TableName
from pysync.sections import SourceConfig
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings
from tests.support import table
from tests.support.refreshing import Target


class Housed(Target):
    """Each of its databases has its files in file:/there/NAME.db."""

    def database(self, name: str) -> Any:
        return SimpleNamespace(locationUri=f"file:/there/{name}.db", parameters={})

    def close(self) -> None:
        pass


class Source:
    """Has tables db.good and db.NAME, of which the second is at `location`."""

    def __init__(self, location: str) -> None:
        self.places = {"good": "file:/here/good", "odd": location}

    def table(self, database: str, name: str) -> Any:
        return table(database, name, location=self.places[name])

    def close(self) -> None:
        pass


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Copies db.good and db.odd, which is at a location of the source; returns the pairs that were copied."""

    def run(location: str, **values: Any) -> list[Pair]:
        settings = {"name": "dr", "kind": "hms", "copy": True, "locations": {"file:/here": "file:/there"}, **values}
        target = TargetSettings.model_validate(settings)
        config = Config(source=SourceConfig(name="onprem", metastore="thrift://here:1"), targets=(target,))
        pairs: list[Pair] = []
        copier = SimpleNamespace(
            copy=lambda some, *, delete: (pairs.extend(some), Copied(files=len(some)))[1],  # noqa: ARG005
            tally=SimpleNamespace(status=dict),
        )
        copies = SimpleNamespace(copiers={"dr": copier}, close=lambda: None)
        monkeypatch.setattr(copying, "Copies", lambda *_: copies)
        monkeypatch.setattr(copying, "Metastore", lambda _: Source(location))
        monkeypatch.setattr(copying, "target_kind", lambda _: SimpleNamespace(open=lambda _: Housed()))
        tables = [TableName("db", "good"), TableName("db", "odd")]
        try:
            copy_now(config, "dr", Wanted(tables), lambda _: None)
        finally:
            run.pairs = pairs  # type: ignore[attr-defined]
        return pairs

    return run


@pytest.mark.parametrize("location", ["file:/here/new.db", "file:///here/new.db/", "file:/here"])
def test_no_file_is_copied_by_hand_to_a_directory_that_other_tables_share(copied: Any, location: str) -> None:
    with pytest.raises(Rejected, match="is not the directory of one table alone"):
        copied(location, databases={"db": "new"})
    assert copied.pairs == []


def test_other_tables_are_copied_by_hand(copied: Any) -> None:
    found = copied("file:/here/odd")
    assert [it.target for it in found] == ["file:/there/good", "file:/there/odd"]
