"""What a comparison takes for drift, and what it only tells."""

from __future__ import annotations

import itertools
import threading
from copy import deepcopy
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError, UsageError
from pysync.lab.faulty import KIND, FaultySettings
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.mark import Mark
from pysync.model.names import TableName, partition_name, partition_values
from pysync.model.operation import DropTable, PutDatabase, PutFunction, PutPartitions, PutTable
from pysync.replay.window.mapping import NameMapping
from pysync.sidecar.verifying import persisting
from pysync.targets.base import Rejected, Unavailable
from pysync.verify import partitions, pool
from pysync.verify.compare import DIFFERENT, EQUAL, EXTRA, FOREIGN, MISSING, ComparedObject, Comparison, Selection
from pysync.verify.report import Report, junit
from tests.support import partition, table
from tests.support.events import database

DAY = [("day", "string")]
ORC = "org.apache.hadoop.hive.ql.io.orc."
MARK = Mark("onprem", 5, 1, 0)
LATER = Mark("onprem", 5, 9, 0)
AT_WEST = Mark("west", 3, 7, 10)
AT_ONCE, FEW = 5, 20
"""Partitions of a batch, and of a table that is compared at once; pysync has 500 and 2,000."""
_NUMBERS = itertools.count()


class Hms:
    """A source in dicts, as much of a Metastore as a comparison needs; it counts its calls for partitions."""

    def __init__(self, *names: str) -> None:
        self.bases: dict[str, Any] = {"default": database("default")}
        self.found: dict[TableName, Any] = {}
        self.parts: dict[TableName, dict[str, Any]] = {}
        self.made: list[Any] = []
        self.batches: list[int] = []
        self.fails = 0
        self.meeting: threading.Barrier | None = None  # where the first who ask for partitions wait for each other
        for name in names:
            self.add(name)

    def add(self, name: str, *days: str, **fields: Any) -> Any:
        which = TableName.parse(name)
        self.bases.setdefault(which.database, database(which.database))
        made = self.found[which] = table(which.database, which.table, partition_keys=DAY if days else (), **fields)
        self.parts[which] = {partition_name(["day"], [day]): partition(made, [day]) for day in days}
        return made

    def close(self) -> None:
        """Nothing to close."""

    def databases(self) -> list[str]:
        if self.fails:
            self.fails -= 1
            raise MetastoreUnavailable("nobody there")
        return sorted(self.bases)

    def database(self, name: str) -> Any:
        return deepcopy(self.bases.get(name))

    def tables(self, of: str) -> list[str]:
        return [name.table for name in self.found if name.database == of]

    def table(self, of: str, name: str) -> Any:
        return deepcopy(self.found.get(TableName(of, name)))

    def functions(self, of: str) -> list[Any]:
        return [deepcopy(it) for it in self.made if it.dbName == of]

    def constraints(self, _: Any) -> dict[Any, list[Any]]:
        return {}

    def call(self, request: Any) -> Any:
        return request(self)

    def get_partition_names(self, of: str, name: str, most: int) -> list[str]:
        return sorted(self.parts[TableName(of, name)])[: None if most < 0 else most]

    def partitions_by_name(self, of: str, name: str, names: list[str]) -> list[Any]:
        self.batches.append(len(names))
        if self.meeting is not None and len(self.batches) <= self.meeting.parties:
            self.meeting.wait()
        return [deepcopy(self.parts[TableName(of, name)][it]) for it in names]


class Place:
    """A source, and a target in memory that has what it shall have of the source at the beginning."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self.source = Hms(*names)
        self.settings = FaultySettings(name=f"dr{next(_NUMBERS)}", kind="faulty", **settings)
        self.target = KIND.open(self.settings)

    def sync(self, mark: Mark = MARK) -> Place:
        """Write all that the source has."""
        mapping = NameMapping.of(self.settings)
        for name, base in self.source.bases.items():
            self.target.apply(PutDatabase(database=name, definition=deepcopy(base), mark=mark))
        for name, made in self.source.found.items():
            definition, parts = deepcopy(made), tuple(deepcopy(list(self.source.parts[name].values())))
            mapping.apply_to(definition)
            for part in parts:
                mapping.apply_to_partition(part, mapping.frame(made))
            self.target.apply(PutTable(table=name, definition=deepcopy(definition), mark=mark))
            self.target.apply(PutPartitions(table=name, definition=definition, partitions=parts, mark=mark))
        for it in self.source.made:
            self.target.apply(PutFunction(database=it.dbName, definition=deepcopy(it), mark=mark))
        return self

    def compare(self, *names: str, threads: int = 2) -> list[ComparedObject]:
        opened = lambda: KIND.open(self.settings)  # noqa: E731
        comparison = Comparison(lambda: self.source, opened, self.settings, "onprem", threads=threads)
        return list(comparison.run(Selection.parse(names)))

    def unequal(self) -> dict[str, tuple[str, bool]]:
        """Result, and whether it is drift, of whatever is not equal."""
        return {f"{it.kind} {it.name}": (it.result, it.drift) for it in self.compare() if it.result != EQUAL}


def function(name: str, kind: str = "org.F") -> Any:
    return hive.Function(name, "db", kind, "x", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_comparisons(monkeypatch)


def shrink_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait between retries, and batches of a few partitions."""
    monkeypatch.setattr(partitions, "PARTITIONS_PER_CALL", AT_ONCE)
    monkeypatch.setattr(partitions, "FEW", FEW)
    monkeypatch.setattr(pool, "_FIRST_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(pool, "_LONGEST_WAIT_SECONDS", 0.0)


def anew(*days: str) -> Place:
    """Tables with a header, of which they alone tell: so the partitions of `mixed`, ORC, stay as those of `kept` do."""
    place = Place(locations={"file:/here": "file:/there"}, copy={"rewrite": "parquet"}, transactional="metadata")
    for name, parameters in (("db.text", {}), ("db.kept", {"transactional": "true"}), ("db.mixed", {})):
        made = place.source.add(name, *days, parameters={"skip.header.line.count": "1", **parameters})
        made.sd.location = f"file:/here/{name}"
        for part in place.source.parts[TableName.parse(name)].values():
            part.sd.location = f"file:/here/{name}/{part.values[0]}"
            if name == "db.mixed":
                part.sd.inputFormat, part.sd.serdeInfo.serializationLib = f"{ORC}OrcInputFormat", f"{ORC}OrcSerde"
    return place.sync()


def left_as_they_are(place: Place, *days: str) -> None:
    """Partitions of all that the target has as they are at the source, but in their new place."""
    for name in (TableName("db", it) for it in ("text", "kept", "mixed")):
        parts = [deepcopy(place.source.parts[name][f"day={day}"]) for day in days]
        for part in parts:
            part.sd.location = part.sd.location.replace("/here/", "/there/")
        definition = place.target.table(name)
        place.target.apply(PutPartitions(table=name, definition=definition, partitions=tuple(parts), mark=LATER))


# --- whose it is, and what the settings say


def test_what_was_synced_is_equal_and_each_object_is_told_of_in_order() -> None:
    place = Place("db.b", "db.a", "cd.t")
    place.source.made = [function("f")]
    found = place.sync().compare()
    assert [(it.kind, it.name) for it in found] == [
        ("database", "cd"), ("table", "cd.t"), ("database", "db"), ("function", "db.f"), ("table", "db.a"),
        ("table", "db.b"),
    ]  # fmt: skip
    assert {it.result for it in found} == {EQUAL}


def test_what_the_source_has_no_more_is_drift_unless_drops_are_suppressed() -> None:
    for drops, drift in (("apply", True), ("suppress", False)):
        place = Place("db.t", "db.gone", "lost.t", drops=drops).sync()
        del place.source.found[TableName("db", "gone")], place.source.found[TableName("lost", "t")]
        del place.source.bases["lost"]
        assert place.unequal() == {"table db.gone": (EXTRA, drift), "database lost": (EXTRA, drift)}


def test_dropped_tables_in_the_trash_are_neither_drift_nor_foreign() -> None:
    place = Place("db.t", "db.gone", drops="trash").sync()
    del place.source.found[TableName("db", "gone")]
    assert place.unequal() == {"table db.gone": (EXTRA, True)}
    place.target.apply(DropTable(table=TableName("db", "gone"), mark=LATER))
    assert len(place.target.trashed()) == 1
    assert place.unequal() == {}


def test_partitions_too_many_are_told_where_drops_are_suppressed() -> None:
    for drops, drift in (("apply", True), ("suppress", False)):
        place = Place(drops=drops)
        place.source.add("db.t", "1", "2")
        place.sync()
        del place.source.parts[TableName("db", "t")]["day=1"]
        assert place.unequal() == {"table db.t": (DIFFERENT, drift)}
        (found,) = (it for it in place.compare() if it.kind == "table")
        assert found.fields[0].startswith("partition day=1: extra"), found


def test_what_is_of_a_kind_that_the_target_does_not_take_is_told() -> None:
    kinds = ["CREATE_FUNCTION", "CREATE_TABLE", "ADD_PARTITION"]
    place = Place(exclude_kinds=kinds)
    place.source.add("db.t", "1")
    place.sync()
    place.source.made = [function("f")]
    place.source.found[TableName("db", "t")].owner = "x"
    place.source.parts[TableName("db", "t")]["day=2"] = partition(place.source.found[TableName("db", "t")], ["2"])
    assert place.unequal() == {"function db.f": (MISSING, False), "table db.t": (DIFFERENT, False)}


def test_objects_of_others_beside_ours_are_told() -> None:
    place = Place("db.t").sync()
    theirs = Place("db.theirs", "their.t")
    theirs.target = place.target
    theirs.sync(Mark("elsewhere", 1, 1, 0))
    assert place.unequal() == {"table db.theirs": (FOREIGN, False), "database their": (FOREIGN, False)}


@pytest.mark.parametrize(
    ("on_conflict", "result"), [("park", (FOREIGN, True)), ("skip", (FOREIGN, False)), ("adopt", (DIFFERENT, True))]
)
def test_a_table_of_others_where_ours_should_be_is_drift_unless_it_is_to_be_left(
    on_conflict: str, result: tuple[str, bool]
) -> None:
    place = Place("db.t", on_conflict=on_conflict).sync(Mark("elsewhere", 1, 1, 0))
    place.source.found[TableName("db", "t")].owner = "x"
    assert place.unequal() == {"table db.t": result}


def test_a_database_of_others_is_a_place_for_ours() -> None:
    place = Place("db.t").sync(Mark("elsewhere", 1, 1, 0))
    place.source.bases["db"].description = "ours"
    assert place.unequal()["database db"] == (FOREIGN, False)


def born_at_target(place: Place, name: str, *days: str, **fields: Any) -> None:
    """A table that the target has by itself, in its own database."""
    which = TableName.parse(name)
    made = table(which.database, which.table, partition_keys=DAY if days else (), **fields)
    place.target.store.hms.call(lambda client: client.create_table(made))
    parts = [partition(made, [day]) for day in days]
    if parts:
        request = hive.AddPartitionsRequest(which.database, which.table, parts, True)
        place.target.store.hms.call(lambda client: client.add_partitions_req(request))


def returned(*days: str, mark: Mark = AT_WEST, **settings: Any) -> Place:
    """Source and target have both a table `db.t`, which was born at the target, and a database that was born here."""
    place = Place("db.other", cluster="west", **settings).sync()
    place.source.add("db.t", *days).parameters |= mark.parameters()
    born_at_target(place, "db.t", *days)
    return place


def test_what_came_from_the_target_itself_is_compared_and_told() -> None:
    place = returned("1", "2")
    assert place.unequal() == {}
    assert "table db.t" in {f"{it.kind} {it.name}" for it in place.compare("db.t")}
    place.source.found[TableName("db", "t")].owner = "x"
    assert place.unequal() == {"table db.t": (DIFFERENT, False)}
    (found,) = place.compare("db.t")
    assert "it came from 'west'" in found.excuse
    del place.source.parts[TableName("db", "t")]["day=1"]
    place.source.found[TableName("db", "t")].owner = "tester"
    assert place.unequal() == {"table db.t": (DIFFERENT, False)}


def test_its_partitions_are_when_they_are_many() -> None:
    days = [f"{day:05d}" for day in range(FEW + 5)]
    place = returned(*days)
    del place.source.parts[TableName("db", "t")]["day=00001"]
    assert place.unequal() == {"table db.t": (DIFFERENT, False)}


@pytest.mark.parametrize("days", [(), ("1", "2")])
def test_both_ways_whatever_differs_is_drift_whoever_it_is_of(days: tuple[str, ...]) -> None:
    place = returned(*days, both_ways=True)
    assert place.unequal() == {}
    place.source.found[TableName("db", "t")].owner = place.source.found[TableName("db", "other")].owner = "x"
    assert place.unequal() == {"table db.t": (DIFFERENT, True), "table db.other": (DIFFERENT, True)}


def test_both_ways_a_table_that_is_at_one_end_alone_is_drift_whoever_it_is_of() -> None:
    place = returned(both_ways=True)
    del place.source.found[TableName("db", "t")]
    place.source.add("db.gone").parameters |= AT_WEST.parameters()
    (missing, extra) = (it for it in place.compare() if it.result != EQUAL)
    assert (extra.name, extra.result, extra.drift, extra.fields) == (
        "db.t", EXTRA, True, ("created at 'west', missing at 'onprem'",),
    )  # fmt: skip
    assert (missing.name, missing.result, missing.fields) == (
        "db.gone", MISSING, ("created at 'west', but missing there",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("on_conflict", "result"), [("park", (FOREIGN, True)), ("skip", (FOREIGN, False)), ("adopt", (DIFFERENT, True))]
)
def test_both_ways_what_was_born_at_both_ends_is_told_of(on_conflict: str, result: tuple[str, bool]) -> None:
    place = returned(mark=Mark("onprem", 5, 1), both_ways=True, on_conflict=on_conflict)
    place.source.found[TableName("db", "t")].owner = "x"
    assert place.unequal() == {"table db.t": result}
    if on_conflict == "park":
        (found,) = place.compare("db.t")
        assert found.fields[0] == "another object has this name: created at 'west'"


def test_both_ways_each_end_counts_its_own_files() -> None:
    for both_ways, expected in ((True, {}), (False, {"table db.other": (DIFFERENT, True)})):
        place = returned(both_ways=both_ways)
        place.source.found[TableName("db", "other")].parameters["numFiles"] = "7"
        assert place.unequal() == expected


def test_both_ways_nor_are_the_counts_of_the_target_compared() -> None:
    place = Place("db.other", cluster="west", both_ways=True).sync()
    place.source.add("db.t").parameters |= AT_WEST.parameters()
    born_at_target(place, "db.t", parameters={"numFiles": "0"})
    assert place.unequal() == {}


def test_both_ways_a_function_of_the_target_is_no_others() -> None:
    place = returned(both_ways=True)
    place.target.store.hms.call(lambda client: client.create_function(function("f")))
    assert place.unequal() == {"function db.f": (EXTRA, True)}


def test_what_is_not_in_scope_any_more_is_told() -> None:
    place = Place("db.t", "db.tmp", exclude=["db.tmp"]).sync()
    assert place.unequal() == {"table db.tmp": (EXTRA, False)}


def test_what_is_not_taken_by_its_definition_is_told_and_not_missed() -> None:
    place = Place("db.t", "db.u").sync()
    only_views = Place("db.t", include_types=["VIRTUAL_VIEW"])
    assert only_views.unequal() == {"database db": (MISSING, True)}, "not db.t"
    place.settings = place.settings.model_copy(update={"include_types": ("VIRTUAL_VIEW",)})
    assert place.unequal() == {"table db.t": (EXTRA, False), "table db.u": (EXTRA, False)}


def test_names_locations_and_parameters_are_compared_as_they_are_rewritten() -> None:
    place = Place("db.t", databases={"db": "copy"}, parameters={"by": "pysync"})
    assert place.unequal() == {"database copy": (MISSING, True), "table copy.t": (MISSING, True)}
    (found,) = (it for it in place.compare() if it.kind == "table")
    assert found.source == "db.t"


@pytest.mark.parametrize("on_conflict", ["park", "skip", "adopt"])
def test_the_copy_of_another_table_is_not_taken_for_this_one(on_conflict: str) -> None:
    place = Place("db.t", "twin.t", databases={"db": "both", "twin": "both"}, on_conflict=on_conflict)
    mapping = NameMapping.of(place.settings)
    for old, base in (("twin", place.source.bases["twin"]), ("twin.t", place.source.found[TableName("twin", "t")])):
        definition, mark = deepcopy(base), replace(MARK, object=old)
        mapping.apply_to(definition)
        if old == "twin":
            place.target.apply(PutDatabase(database="both", definition=definition, mark=mark))
        else:
            put = PutTable(table=TableName("both", "t"), definition=definition, mark=mark, creates=True)
            place.target.apply(put)
    found = {it.source: (it.result, it.drift, it.fields[:1]) for it in place.compare() if it.kind == "table"}
    reported = "another object has this name: the copy of twin.t"
    assert found == {"twin.t": (EQUAL, False, ()), "db.t": (FOREIGN, True, (reported,))}
    place.settings = place.settings.model_copy(update={"exclude": ("twin.t",)})
    tables = [(it.source, it.result) for it in place.compare() if it.kind == "table"]
    assert tables == [("db.t", EQUAL)], "twin.t is out of scope, so db.t may have the name, and looks the same"


@pytest.mark.parametrize("is_there", [False, True])
def test_what_the_target_cannot_hold_is_no_excuse_for_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """Before: verify was green, with a table or partition missing."""
    place = Place("db.t")
    place.target.apply(PutDatabase(database="db", definition=place.source.bases["db"], mark=MARK))
    if is_there:
        name = TableName("db", "t")
        place.target.apply(PutTable(table=name, definition=place.source.found[name], mark=MARK))

    def refuse(_: Any, wanted: Any, *__: Any) -> list[str]:
        if isinstance(wanted, hive.Table):
            raise Rejected("no such table fits in here")
        return []

    monkeypatch.setattr(type(place.target), "differences", refuse)
    (found,) = (it for it in place.compare() if it.kind == "table")
    reason = "no such table fits in here"
    assert (found.result, found.drift) == ((DIFFERENT, False) if is_there else (MISSING, True))
    assert (found.fields, found.excuse) == (((), reason) if is_there else ((reason,), ""))


def test_a_partition_that_the_target_cannot_hold_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place()
    place.source.add("db.t", "1")
    place.sync()
    place.source.add("db.t", "1", "2")

    def refuse(_: Any, wanted: Any, *__: Any) -> list[str]:
        if isinstance(wanted, hive.Partition):
            raise Rejected("no such partition fits in here")
        return []

    monkeypatch.setattr(type(place.target), "differences", refuse)
    (found,) = (it for it in place.compare() if it.kind == "table")
    held = "partition day=1: the target cannot hold it (no such partition fits in here)"
    assert (found.drift, found.fields) == (True, ("partition day=2: missing: no such partition fits in here",))
    place.source.parts[TableName("db", "t")].pop("day=2")
    (found,) = (it for it in place.compare() if it.kind == "table")
    assert (found.drift, found.fields) == (False, (held,))


def test_a_table_whose_location_leaves_its_prefix_hinders_no_other() -> None:
    place = Place("db.a", "db.odd", "db.z", locations={"hdfs://a/wh": "hdfs://b/wh"})
    place.source.found[TableName("db", "odd")].sd.location = "hdfs://a/wh/../secret"
    found = {it.name: it for it in place.compare() if it.kind == "table"}
    assert sorted(found) == ["db.a", "db.odd", "db.z"]
    assert "leaves its prefix hdfs://a/wh by '..'" in found["db.odd"].fields[0]
    assert [it.name for it in found.values() if it.drift] == ["db.a", "db.odd", "db.z"]


# --- partitions


@pytest.mark.parametrize("more", [0, FEW])
@pytest.mark.parametrize(("out_of_scope", "drift"), [("keep", False), ("drop", True)])
def test_partitions_that_a_filter_leaves_out_are_not_missed(more: int, out_of_scope: str, drift: bool) -> None:
    """Those that the target has from before may stay, unless they are to be dropped."""
    place = Place(where="day >= '2026-01-01'", out_of_scope=out_of_scope)
    days = ["2025-12-31", "2026-01-01", *(f"2026-02-{it:05}" for it in range(more))]
    place.source.add("db.t", *days)
    place.sync()
    place.source.add("db.t", "2025-12-30", *days[1:])
    assert place.unequal() == {"table db.t": (DIFFERENT, drift)}
    (found,) = (it for it in place.compare() if it.kind == "table")
    reported = "" if drift else " (not in the scope of the target)"
    assert found.fields == (f"partition day=2025-12-31: extra{reported}",)


def test_partitions_whose_files_are_written_anew_are_compared_as_their_table_tells() -> None:
    place = anew(*(f"{day:05}" for day in range(3)))
    assert place.unequal() == {}
    left_as_they_are(place, "00001")
    (found,) = (it for it in place.compare() if it.drift)
    assert (found.name, found.parts) == ("db.text", 3)
    assert found.fields[0].startswith("partition day=00001: sd.inputFormat: ")


@pytest.mark.parametrize("count", [3, FEW, FEW + 1, FEW + 7])
def test_partitions_are_read_in_batches_however_many_and_each_difference_is_counted(count: int) -> None:
    place = Place()
    name = TableName("db", "t")
    place.source.add("db.t", *(f"{day:05}" for day in range(count)))
    place.sync()
    names = sorted(place.source.parts[name])
    place.source.parts[name].pop(names[0])
    place.source.parts[name][names[-1]].parameters["x"] = "y"
    place.source.parts[name]["day=new"] = partition(place.source.found[name], ["new"])
    (found,) = (it for it in place.compare(threads=3) if it.kind == "table")
    assert (found.result, found.parts, len(found.fields)) == (DIFFERENT, count, 3)
    assert set(found.fields) == {
        f"partition {names[0]}: extra",
        f"partition {names[-1]}: parameters.x: nothing instead of 'y'",
        "partition day=new: missing",
    }
    assert max(place.source.batches) <= AT_ONCE
    assert sum(place.source.batches) == count


def test_the_batches_of_a_large_table_are_read_by_all_threads_at_once() -> None:
    place = Place()
    place.source.add("db.t", *(f"{day:05}" for day in range(FEW + 1)))
    place.sync()
    place.source.meeting = threading.Barrier(3, timeout=20)
    assert place.compare(threads=3)[-1].result == EQUAL


def test_of_many_differences_the_first_are_listed_and_all_counted() -> None:
    place = Place()
    place.source.add("db.t", "0")
    place.sync()
    made = place.source.found[TableName("db", "t")]
    for day in range(1, 2501):
        place.source.parts[TableName("db", "t")][f"day={day}"] = partition(made, [str(day)])
    (found,) = (it for it in place.compare() if it.kind == "table")
    assert (len(found.fields), found.fields[-1]) == (21, "and 2,480 more")


@pytest.mark.parametrize(
    "values", [["2026-01-01", "a/b=c %"], ["Zürich", "__HIVE_DEFAULT_PARTITION__"], ["x\n\t", "'"]]
)
def test_the_name_of_a_partition_tells_its_values(values: list[str]) -> None:
    assert partition_values(partition_name(["a", "b"], values)) == values


# --- answers that do not come


def test_a_look_without_an_answer_is_tried_again_and_then_the_source_is_unavailable() -> None:
    place = Place("db.t").sync()
    place.source.fails = 2
    assert place.unequal() == {}
    place.source.fails = 3
    with pytest.raises(Unavailable, match="cannot read the source: nobody there"):
        place.compare()


@pytest.mark.parametrize("threads", [1, 3])
def test_whoever_keeps_the_pace_can_end_it(threads: int) -> None:
    place = Place(*(f"db.t{number}" for number in range(20))).sync()
    left = iter(range(5))

    def pace() -> None:
        if next(left, None) is None:
            raise PysyncError("enough")

    opened = lambda: KIND.open(place.settings)  # noqa: E731
    comparison = Comparison(lambda: place.source, opened, place.settings, "x", threads=threads, keep_pace=pace)
    with pytest.raises(PysyncError, match="enough"):
        list(comparison.run())


# --- selections, second looks, reports


def test_names_that_nothing_has_are_known() -> None:
    selection = Selection.parse(["db", "nowhere", "db.t", "db.no"])
    assert selection is not None
    assert selection.not_among(["db", "db.t"]) == ["nowhere", "db.no"]
    with pytest.raises(UsageError):
        Selection.parse([" "])


def test_only_what_differs_in_the_same_way_at_both_looks_is_drift() -> None:
    def looks(*results: tuple[str, str, tuple[str, ...]]) -> list[ComparedObject]:
        return [ComparedObject("table", name, result, fields=fields) for name, result, fields in results]

    first = looks(
        ("stays", MISSING, ()), ("came", MISSING, ()), ("moves", DIFFERENT, ("a: 1 instead of 2",)),
        ("partly", DIFFERENT, ("a: 1 instead of 2", "b: 1 instead of 2")), ("many", DIFFERENT, ("x", "and 5 more")),
        ("left", EXTRA, ()), ("swapped", MISSING, ()),
    )  # fmt: skip
    again = looks(
        ("stays", MISSING, ()), ("came", EQUAL, ()), ("moves", DIFFERENT, ("a: 2 instead of 3",)),
        ("partly", DIFFERENT, ("b: 1 instead of 2",)), ("many", DIFFERENT, ("y", "and 5 more")), ("new", MISSING, ()),
        ("left", DIFFERENT, ("a: 1 instead of 2",)), ("swapped", EXTRA, ()),
    )  # fmt: skip
    assert [it.name for it in persisting(first, again)] == ["stays", "partly"]


def test_a_second_look_takes_the_place_of_the_first_at_what_had_drifted() -> None:
    drifted = ComparedObject("table", "db.t", MISSING, source="db.t")
    report = Report("dr", "hms", [ComparedObject("table", "db.a", EQUAL, source="db.a"), drifted])
    assert report.again().tables == {TableName("db", "t")}
    report.replace([ComparedObject("table", "db.t", EQUAL, 3, source="db.t")])
    assert (report.drift, report.partitions, len(report.compared)) == ([], 3, 2)


def test_junit_holds_whatever_a_field_says() -> None:
    items = [
        ComparedObject("table", "db.t\x01", DIFFERENT, fields=("parameters.x: '\x00<&\ud800]]>' instead of nothing",)),
        ComparedObject("table", "db.u", EQUAL),
        ComparedObject("table", "db.v", EXTRA, excuse="drops are suppressed"),
    ]
    (suite,) = ElementTree.fromstring(junit([Report("dr", "hms", items)]))  # noqa: S314 - our own
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3", "failures": "1", "skipped": "1",
    }  # fmt: skip
    assert [[child.tag for child in case] for case in suite] == [["failure"], [], ["skipped"]]
