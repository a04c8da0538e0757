"""Column statistics reach a target that is set to keep them: by refreshes, and by the events of those who tell.

PYSYNC_TEST_HIVE runs it on another version of Hive.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutStatistics, Refresh
from pysync.replay.refresh import Refresher
from pysync.replay.window.translate import Translator
from pysync.targets.base import Outcome, Rejected, Unavailable
from pysync.targets.hms import HmsSettings, hms_target
from pysync.targets.target import StoreTarget
from tests.support import new_database, partition, table
from tests.support.statistics import columns, delete, of_columns, plain, read, write

pytestmark = pytest.mark.smoke

FIRST, SECOND = "k=1", "k=a%2Fb"


@dataclass(slots=True)
class Place:
    """A table and its partitions at a source, and the target, which has its database under another name."""

    hms: Metastore
    uri: str
    old: TableName
    new: TableName

    def settings(self, **values: Any) -> HmsSettings:
        renamed = {self.old.database: self.new.database}
        fields = {"name": "dr", "kind": "hms", "metastore": self.uri, "databases": renamed, "statistics": "columns"}
        return HmsSettings.model_validate(fields | values)

    def refresh(self, *partitions: str, only: bool = False, **values: Any) -> Outcome:
        """Refresh the table, or `only` its statistics, as an event of them does."""
        settings = self.settings(**values)
        refresher = Refresher(lambda: Metastore(self.uri), Translator.of(settings), lambda *_: True)
        source = None if only else self.old
        asked = Refresh(
            mark=Mark("onprem", 1, 5), source_table=source, table=self.new, partitions=partitions, statistics=only
        )
        with closing(hms_target(settings)) as target:
            try:
                return refresher.apply(target, asked)
            finally:
                refresher.rest()

    def at_target(self) -> dict[str, dict[str, Any]]:
        return read(self.hms, self.new, FIRST, SECOND)


@pytest.fixture
def place(shared_metastore: EmbeddedMetastore, tmp_path: Path) -> Iterator[Place]:
    with Metastore(shared_metastore.uri) as hms:
        old, new = TableName(new_database(hms), "t"), TableName(new_database(hms, "copy"), "t")
        made = table(old.database, "t", partition_keys=[("k", "string")], location=f"file:{tmp_path}/t")
        made.sd.cols = columns()
        hms.call(lambda client: client.create_table(made))
        parts = [partition(made, ["1"]), partition(made, ["a/b"])]
        hms.call(lambda client: client.add_partitions(parts))
        yield Place(hms, shared_metastore.uri, old, new)


def test_a_refresh_brings_the_statistics_of_every_type_and_then_rests(place: Place) -> None:
    write(place.hms, place.old, of_columns(1))
    write(place.hms, place.old, of_columns(2), FIRST)
    write(place.hms, place.old, of_columns(3, ["id", "sum"]), SECOND)
    assert place.refresh() == Outcome.APPLIED
    wanted = {"": plain(of_columns(1)), FIRST: plain(of_columns(2)), SECOND: plain(of_columns(3, ["id", "sum"]))}
    assert place.at_target() == wanted
    assert place.refresh() == Outcome.UNCHANGED


def test_unless_it_is_set_none_are_brought(place: Place) -> None:
    write(place.hms, place.old, of_columns(1))
    place.refresh(statistics="off")
    assert place.refresh(only=True, statistics="off") == Outcome.UNCHANGED
    assert place.at_target() == {"": {}, FIRST: {}, SECOND: {}}


def test_an_event_brings_what_has_changed_since_and_no_more(place: Place) -> None:
    for seed, part in enumerate(("", FIRST, SECOND), 1):
        write(place.hms, place.old, of_columns(seed), part)
    place.refresh()
    for part in ("", FIRST, SECOND):
        write(place.hms, place.old, of_columns(9, ["id", "note"]), part)
    delete(place.hms, place.old, "price", FIRST)
    assert place.refresh(FIRST, only=True) == Outcome.APPLIED
    found = place.at_target()
    assert found[FIRST] == read(place.hms, place.old, FIRST)[FIRST]
    assert "price" not in found[FIRST]
    assert (found[""], found[SECOND]) == (plain(of_columns(1)), plain(of_columns(3)))
    assert place.refresh(only=True) == Outcome.APPLIED
    assert place.at_target()[""] == read(place.hms, place.old)[""]


def test_what_the_source_has_deleted_goes(place: Place) -> None:
    write(place.hms, place.old, of_columns(1))
    place.refresh()
    delete(place.hms, place.old, "id")
    delete(place.hms, place.old, "day")
    place.refresh(only=True)
    assert place.at_target()[""].keys() == plain(of_columns(1)).keys() - {"id", "day"}


def test_columns_and_partitions_that_the_target_does_not_have_get_none(place: Place) -> None:
    place.refresh()
    there = place.hms.table(place.new.database, "t")
    there.sd.cols = there.sd.cols[: [column.name for column in there.sd.cols].index("day")]
    for column in there.sd.cols:
        column.type = "string" if column.name == "id" else column.type
    place.hms.call(lambda client: client.alter_table(place.new.database, "t", there))
    place.hms.call(lambda client: client.drop_partition(place.new.database, "t", ["a/b"], False))
    for part in ("", FIRST, SECOND):
        write(place.hms, place.old, of_columns(1), part)
    place.refresh(only=True)
    place.refresh(FIRST, SECOND, only=True)
    fitting = plain(of_columns(1)).keys() - {"id", "day"}
    assert place.at_target()[""].keys() == place.at_target()[FIRST].keys() == fitting


def test_a_table_of_others_keeps_its_own_and_one_that_is_gone_is_no_trouble(place: Place) -> None:
    made = table(place.new.database, "t")
    made.sd.cols = columns()
    place.hms.call(lambda client: client.create_table(made))
    write(place.hms, place.old, of_columns(1))
    assert place.refresh(only=True) == Outcome.FOREIGN
    place.hms.call(lambda client: client.drop_table(place.new.database, "t", False))
    assert place.refresh(only=True) == Outcome.UNCHANGED
    place.hms.call(lambda client: client.drop_table(place.old.database, "t", False))
    assert place.refresh(only=True) == Outcome.UNCHANGED


def test_statistics_that_the_target_refuses_park_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place.hms, place.old, of_columns(1))
    place.refresh(statistics="off")
    refuse(monkeypatch, Rejected("not these"))
    assert place.refresh(only=True) == Outcome.UNSUPPORTED
    refuse(monkeypatch, Unavailable("not now"))
    with pytest.raises(Unavailable):
        place.refresh(only=True)


def refuse(monkeypatch: pytest.MonkeyPatch, error: PysyncError) -> None:
    def refusing(_: StoreTarget, operation: Any) -> Outcome:
        assert isinstance(operation, PutStatistics)
        raise error

    monkeypatch.setattr(StoreTarget, "apply", refusing)
