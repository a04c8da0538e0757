"""Iceberg tables at a metastore: what somebody commits while pysync writes the table is not overwritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.model.table_formats import pointer
from pysync.targets.base import Outcome, Rejected, Target
from pysync.targets.hms import KIND, HmsSettings
from pysync.targets.hms.store import HmsStore
from tests.conformance.objects import Source, table
from tests.support import new_database

pytestmark = pytest.mark.smoke

PLACE = "file:/tmp/iceberg/t"


def at(number: int | str, **parameters: str) -> dict[str, str]:
    """The parameters of an Iceberg table after that commit."""
    return {"table_type": "ICEBERG", "metadata_location": f"{PLACE}/metadata/{number}.json", **parameters}


@pytest.fixture
def metastore(shared_metastore: EmbeddedMetastore) -> Iterator[Metastore]:
    with closing(Metastore(shared_metastore.uri)) as metastore:
        yield metastore


@pytest.fixture
def opened(shared_metastore: EmbeddedMetastore) -> Iterator[Callable[[str], Target]]:
    targets: list[Target] = []

    def open_target(on_conflict: str) -> Target:
        settings = {"name": "dr", "kind": "hms", "metastore": shared_metastore.uri, "on_conflict": on_conflict}
        targets.append(KIND.open(HmsSettings.model_validate(settings)))
        return targets[-1]

    yield open_target
    for target in targets:
        target.close()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch, metastore: Metastore) -> Callable[[TableName], list[str]]:
    """Has somebody commit to a table once, after pysync has read it and before it writes; returns the pointer."""
    write = HmsStore.write_table

    def between(name: TableName) -> list[str]:
        done: list[str] = []

        def write_table(self: HmsStore, wanted: Any, there: Any, *, cascade: bool = False) -> None:
            if not done:
                theirs = metastore.table(name.database, name.table)
                theirs.parameters |= at("theirs")
                metastore.call(lambda client: client.alter_table(name.database, name.table, theirs))
                done.append(theirs.parameters["metadata_location"])
            write(self, wanted, there, cascade=cascade)

        monkeypatch.setattr(HmsStore, "write_table", write_table)
        return done

    return between


@pytest.fixture
def name(metastore: Metastore) -> TableName:
    return TableName(new_database(metastore, "iceberg"), "t")


def test_a_commit_between_reading_and_writing_is_seen(opened, commits, metastore: Metastore, name: TableName) -> None:
    target, source = opened("park"), Source()
    assert target.apply(source.put_table(table(name, PLACE, parameters=at(1)))) is Outcome.APPLIED
    done = commits(name)
    with pytest.raises(Rejected, match="has a commit that is not from the source"):
        target.apply(
            source.put_table(
                table(name, PLACE, parameters=at(2, previous_metadata_location=at(1)["metadata_location"]))
            )
        )
    assert [pointer(metastore.table(name.database, name.table).parameters)] == done


def test_with_adopt_the_source_wins_over_such_a_commit(opened, commits, metastore: Metastore, name: TableName) -> None:
    target, source = opened("adopt"), Source()
    target.apply(source.put_table(table(name, PLACE, parameters=at(1))))
    commits(name)
    assert target.apply(source.put_table(table(name, PLACE, parameters=at(2)))) is Outcome.APPLIED
    assert pointer(metastore.table(name.database, name.table).parameters) == at(2)["metadata_location"]
