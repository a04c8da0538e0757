"""Waits with renames: which works at the target are about an object of the source."""

from __future__ import annotations

import pytest

from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.sidecar.waiting.reaching import Objects
from tests.support.events import settings

RENAMES = {"databases": {"sales_*": "dr_*", "crm": "dr_eu"}, "tables": {"sales_eu.old_*": "archive.eu_*"}}


def objects(source: str) -> Objects:
    return Objects.of(source, NameMapping.of(settings(**RENAMES)))


@pytest.mark.parametrize(
    ("key", "is_concerned"),
    [
        ("dr_eu", True),
        ("dr_eu.orders@sales_eu/orders", True),
        ("dr_eu.f()", True),
        ("archive", True),
        ("archive.eu_items", True),
        ("archive.other", False),
        ("dr_eu.orders", False),  # crm's, whose exact rename comes first
        ("dr_us.orders", False),
    ],
)
def test_a_database_is_all_of_it_wherever_it_is_at_the_target(key: str, *, is_concerned: bool) -> None:
    assert objects("sales_eu").concerned({key}) is is_concerned


def test_works_without_names_concern_every_database() -> None:
    assert objects("sales_eu").concerned(frozenset())


@pytest.mark.parametrize(
    ("source", "key"),
    [("sales_us.orders", "dr_us.orders"), ("sales_eu.old_items", "archive.eu_items"), ("sales_eu.orders", "dr_eu")],
)
def test_a_table_is_where_its_pattern_brings_it(source: str, key: str) -> None:
    assert objects(source).concerned({key})
    assert not objects(source).concerned({"dr_jp.orders"})


def test_a_table_that_does_not_have_the_name_by_right_has_a_key_of_its_own() -> None:
    found = NameMapping.of(settings(**RENAMES))
    rivals = [str(it) for it in found.sources_of(found.table(TableName.parse("crm.orders")))]
    own = next(it for it in rivals if "@" in found.order_key(TableName.parse(it)))
    assert objects(own).concerned({found.order_key(TableName.parse(own))})
