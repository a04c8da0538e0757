"""Refreshes of functions and constraints, which carry no mark: they follow their database or table."""

from __future__ import annotations

from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.operation import DropConstraint, DropFunction, PutConstraint, PutFunction, PutTable
from tests.support.refreshing import DB, Hms, T, Target, apply


def function(database: str, name: str) -> Any:
    return hive.Function(functionName=name, dbName=database, className="org.F")


def functions_dropped(target: Target) -> list[str]:
    return [f"{it.database}.{it.function}" for it in target.applied if isinstance(it, DropFunction)]


def test_functions_that_the_source_has_no_more_are_dropped_and_the_others_put() -> None:
    source, target = Hms("db.t"), Target(Hms("db.t"))
    source.made = [function("db", "kept")]
    target.there.made = [function("db", "gone"), function("db", "kept"), function("other", "elsewhere")]
    apply(source, target, DB)
    assert [it.definition.functionName for it in target.applied if isinstance(it, PutFunction)] == ["kept"]
    assert functions_dropped(target) == ["db.gone"]


def test_functions_of_another_database_that_goes_to_the_same_one_are_kept() -> None:
    source, target = Hms("db.t", "twin.t"), Target(Hms("both.t"))
    source.made = [function("twin", "theirs")]
    target.there.made = [function("both", "theirs"), function("both", "gone")]
    apply(source, target, DB, databases={"db": "both", "twin": "both"})
    assert functions_dropped(target) == ["both.gone"]


def test_functions_are_kept_where_their_drops_are_left_out() -> None:
    target = Target(Hms("db.t"))
    target.there.made = [function("db", "gone")]
    apply(Hms("db.t"), target, DB, exclude_kinds=[Kind.DROP_FUNCTION])
    assert functions_dropped(target) == []


def primary(name: str, table: str = "t", column: str = "id") -> Any:
    return hive.SQLPrimaryKey("db", table, column, 1, name, False, False, False)


def foreign(name: str, parent: str) -> Any:
    return hive.SQLForeignKey("db", parent, "id", "db", "t", "id", 1, 0, 0, name, "pk", False, False, False)


def with_keys(*columns: Any, **values: Any) -> Hms:
    found = Hms("db.t", **values)
    kinds: dict[Any, list[Any]] = {hive.SQLPrimaryKey: [], hive.SQLForeignKey: []}
    for column in columns:
        kinds[type(column)].append(column)
    found.keys[TableName("db", "t")] = kinds
    return found


def constraints_of(target: Target) -> list[str]:
    """What became of constraints, in order; a put with the names of all that it puts."""
    found = []
    for it in target.applied:
        if isinstance(it, PutConstraint):
            found.append("put " + " ".join(getattr(c, "fk_name", None) or c.pk_name for c in it.columns))
        elif isinstance(it, DropConstraint):
            found.append(f"drop {it.constraint}")
    return found


def test_constraints_are_put_after_their_table_and_those_that_are_gone_dropped() -> None:
    target = Target(with_keys(foreign("fk_gone", "parent"), foreign("FK", "parent")))
    apply(with_keys(primary("pk"), foreign("fk", "parent")), target, T)
    assert isinstance(target.applied[0], PutTable)
    assert constraints_of(target) == ["put pk", "put fk", "drop fk_gone"]


def test_constraints_of_a_table_that_is_renamed_while_it_is_read_stay() -> None:
    class Renamed(Hms):
        def constraints(self, of: Any) -> dict[Any, list[Any]]:
            self.found.clear()
            return {kind: [] for kind in super().constraints(of)}

    source = Renamed("db.t")
    source.keys = with_keys(foreign("fk", "parent")).keys
    target = Target(with_keys(foreign("fk", "parent")))
    apply(source, target, T)
    assert constraints_of(target) == []


def test_a_primary_key_of_another_name_is_replaced_and_one_that_is_gone_is_dropped() -> None:
    target = Target(with_keys(primary("old")))
    apply(with_keys(primary("new")), target, T)
    assert constraints_of(target) == ["put new"], "a table has one: the target puts it in place of the other"
    target = Target(with_keys(primary("old")))
    apply(with_keys(), target, T)
    assert constraints_of(target) == ["drop old"]


def test_constraints_are_rewritten_without_a_foreign_key_to_a_table_out_of_scope() -> None:
    target = Target()
    source = with_keys(primary("pk"), foreign("fk", "parent"), foreign("fk_out", "secret"))
    apply(source, target, T, databases={"db": "copy"}, exclude=["db.secret"])
    (first, second) = (it for it in target.applied if isinstance(it, PutConstraint))
    assert (first.columns[0].table_db, first.table) == ("copy", TableName("copy", "t"))
    assert [(it.fk_name, it.pktable_db, it.fktable_db) for it in second.columns] == [("fk", "copy", "copy")]


def test_constraints_are_left_alone_if_they_are_excluded_or_unknown_to_the_source() -> None:
    """Excluded by their kinds of event, or the source has no such kind of constraint."""
    target = Target(with_keys(primary("old")))
    kinds = [Kind.ADD_FOREIGNKEY, Kind.DROP_CONSTRAINT]
    apply(with_keys(foreign("fk", "parent")), target, T, exclude_kinds=kinds)
    assert constraints_of(target) == []
    target = Target(with_keys(primary("old")))
    apply(Hms("db.t"), target, T)
    assert constraints_of(target) == [], "an older source does not know of them: it cannot say that they are gone"
