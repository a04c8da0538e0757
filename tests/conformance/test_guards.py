"""What no operation does at a target, whoever judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Outcome, Rejected
from tests.conformance.harness import TargetHarness
from tests.conformance.objects import Source, partition, table
from tests.conformance.test_tables import commit_of, committed, iceberg


def transactional(name: TableName, location: str, **more: str) -> Any:
    return table(name, location, external=False, parameters={"transactional": "true", **more})


@pytest.mark.parametrize("more", [{}, {"transactional_properties": "insert_only"}])
def test_no_transactional_table_is_written(
    harness: TargetHarness,
    source: Source,
    name: TableName,
    location: str,
    more: dict[str, str],
) -> None:
    target, old = harness.open(), TableName(name.database, "old")
    target.apply(source.put_table(table(old, location)))
    target.apply(source.put_table(table(name, location)))
    wanted = transactional(name, location, **more)
    for refused in (source.put_table(wanted), source.put_table(transactional(old, location, **more))):
        with pytest.raises(Rejected, match=f"table {refused.table} is transactional"):
            target.apply(refused)
    assert target.apply(source.drop_table(name)) is Outcome.APPLIED
    for refused in (source.put_table(wanted), source.rename_table(old, wanted)):
        with pytest.raises(Rejected, match=f"table {name} is transactional"):
            target.apply(refused)
    assert target.tables(name.database) == ["old"]
    assert "transactional" not in target.table(old).parameters


@pytest.mark.parametrize("on_conflict", ["skip", "park", "adopt"])
@pytest.mark.parametrize("renamed", [False, True])
def test_no_commit_of_the_target_is_overwritten_unless_the_settings_say_so(
    harness: TargetHarness,
    name: TableName,
    location: str,
    on_conflict: str,
    *,
    renamed: bool,
) -> None:
    target, source = harness.open(on_conflict=on_conflict), Source()
    source.position = 1
    target.apply(source.put_table(iceberg(name, location, "1")))
    harness.alter(commit_of(target.table(name), f"{location}/theirs.json"))
    new = TableName(name.database, "new") if renamed else name
    definition = iceberg(new, location, "3", "2")
    change = source.rename_table(name, definition) if renamed else source.put_table(definition)
    if on_conflict == "park":
        with pytest.raises(Rejected, match=f"the Iceberg table {name} at the target 'dr' has a commit .*/theirs"):
            target.apply(change)
    else:
        assert target.apply(change) is (Outcome.FOREIGN if on_conflict == "skip" else Outcome.APPLIED)
    adopted = on_conflict == "adopt"
    assert committed(target, new if adopted else name) == ("3" if adopted else "theirs")


def test_no_file_is_deleted_that_is_not_the_dropped_tables_own(
    harness: TargetHarness, name: TableName, location: str
) -> None:
    """The table is in its database's directory itself, where other tables have theirs."""
    if "managed" not in harness.features:
        pytest.skip("this kind has no tables whose files are its own")
    target, source = harness.open(delete_data=True), Source()
    source.position = 1
    place = str(Path(location).parent)
    files = [harness.directory(place) / "data", harness.directory(place) / "k=1" / "data"]
    definition = table(name, place, keys=["k"], external=False)
    target.apply(source.put_table(definition))
    target.apply(source.put_partitions(definition, partition(definition, ["1"])))
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("rows")
    assert target.apply(source.drop_table(name, place)) is Outcome.APPLIED
    assert [it.exists() for it in files] == [True, True]


def test_a_kind_that_has_resource_links_goes_one_way(harness: TargetHarness) -> None:
    """So what is refused about links needs no case with both ways."""
    if harness.kind not in {"glue", "athena"}:
        pytest.skip("this kind has no resource links")
    with pytest.raises(ValueError, match="cannot replicate back"):
        harness.open(both_ways=True)
