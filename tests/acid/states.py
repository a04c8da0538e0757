"""States of transactional tables: what leads to each, step by step. After each step the rows are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.acid.hive import HiveAndMetastore

Step = Callable[[HiveAndMetastore], object]

_FULL = "tblproperties('transactional'='true')"
_INSERT_ONLY = "tblproperties('transactional'='true','transactional_properties'='insert_only')"


def run(*statements: str) -> Step:
    """Statements that commit."""
    return lambda hive: hive.run(*statements)


def abort(statement: str) -> Step:
    """A statement whose transaction is aborted."""
    return lambda hive: hive.abort(statement)


def compact(table: str, kind: str) -> Step:
    """One round of the compactor's worker."""
    return lambda hive: hive.compact(table, kind)


def clean() -> Step:
    """One round of the compactor's cleaner."""
    return lambda hive: hive.clean()


def _insert_only(form: str) -> Sequence[Step]:
    table = f"w.only_{form}"
    return (
        run(f"create table {table} (id int, s string) stored as {form} {_INSERT_ONLY}"),
        run(f"insert into {table} values (1,'x'),(2,'y')", f"insert into {table} values (3,null)"),
        abort(f"insert into {table} values (100,'aborted')"),
        run(f"insert overwrite table {table} select 5,'five'"),
        run(f"insert into {table} values (6,'six')"),
        compact(table, "major"),
        clean(),
    )


STATES: Mapping[str, Sequence[Step]] = {
    "a": (
        run(f"create table w.a (id int, s string) stored as orc {_FULL}"),
        run("insert into w.a values (1,'x'),(2,'y'),(3,'z')"),
        run("insert into w.a values (4,'u')", "update w.a set s='q' where id=2"),
        run("delete from w.a where id=1"),
        run(
            "merge into w.a as t using (select 3 id, 'm' s union all select 9,'n') x on t.id=x.id "
            "when matched then update set s=x.s when not matched then insert values (x.id,x.s)"
        ),
        abort("insert into w.a values (100,'aborted')"),
        abort("delete from w.a where id=4"),
        compact("w.a", "minor"),
        run("delete from w.a where id=4"),
        compact("w.a", "major"),
        clean(),
        run("delete from w.a where id=9", "insert into w.a values (11,'after')"),
    ),
    "streamed": (
        run(f"create table w.streamed (id int, s string) stored as orc {_FULL}"),
        run("insert into w.streamed values (1,'x'),(2,'y')"),
        run("insert into w.streamed values (3,'z')"),
        abort("insert into w.streamed values (100,'aborted')"),
        run("insert into w.streamed values (4,'u')"),
        compact("w.streamed", "minor"),
        run("insert into w.streamed values (5,'v')"),
        clean(),
        run("insert into w.streamed values (6,'w')"),
        run("truncate table w.streamed", "insert into w.streamed values (7,'again')"),
        run("insert into w.streamed values (8,'and again')"),
    ),
    "overwritten": (
        run(f"create table w.overwritten (id int, s string) stored as orc {_FULL}"),
        run("insert into w.overwritten values (1,'x'),(2,'y')", "insert overwrite table w.overwritten select 5,'five'"),
        run("insert into w.overwritten values (6,'six')", "update w.overwritten set s='V' where id=5"),
        abort("insert overwrite table w.overwritten select 7,'aborted'"),
        run("insert overwrite table w.overwritten select * from w.overwritten where id > 100"),
        run("insert into w.overwritten values (7,'seven')"),
        run("truncate table w.overwritten"),
        run("insert into w.overwritten values (8,'eight')"),
    ),
    "parted": (
        run(f"create table w.parted (id int, s string) partitioned by (d string) stored as orc {_FULL}"),
        run(
            "insert into w.parted partition (d='1') values (1,'x'),(2,'y')",
            "insert into w.parted partition (d) select 3,'z','2'",
        ),
        run("insert into w.parted partition (d='1') values (10,'second')", "update w.parted set s='q' where id=2"),
        run("delete from w.parted where d='2'"),
        run("insert overwrite table w.parted partition (d='1') select 7,'o'"),
        run(
            "insert into w.parted partition (d) select 3,'z','2'",
            "insert into w.parted partition (d='3') values (4,'w')",
        ),
        compact("w.parted partition (d='1')", "major"),
        clean(),
        run("alter table w.parted drop partition (d='3')"),
    ),
    "converted": (
        run("create table w.converted (id int, s string) stored as orc tblproperties('transactional'='false')"),
        run("insert into w.converted select 1,'x' union all select 2,'y'", "insert into w.converted select 3,'z'"),
        run(f"alter table w.converted set {_FULL}"),
        run("delete from w.converted where id in (2,3)"),
        run("update w.converted set s='up' where id=1", "insert into w.converted values (6,'six')"),
        compact("w.converted", "major"),
        clean(),
    ),
    "evolved": (
        run(f"create table w.evolved (id int, n int, s string) stored as orc {_FULL}"),
        run("insert into w.evolved values (1,1,'x'),(2,2,'y')"),
        run("alter table w.evolved add columns (extra string)", "insert into w.evolved values (3,3,'z','new')"),
        run("alter table w.evolved change n n bigint", "insert into w.evolved values (4,9007199254740993,'w','new')"),
        run("alter table w.evolved change s text string", "insert into w.evolved values (5,5,'after','x')"),
        run("delete from w.evolved where id=1"),
        compact("w.evolved", "major"),
    ),
    "typed": (
        run(
            "create table w.typed (id int, t tinyint, sm smallint, b bigint, f float, d double, de decimal(20,4), "
            "v varchar(5), c char(5), ok boolean, bi binary, dt date, ts timestamp, arr array<int>, "
            f"m map<string,int>, st struct<x:int,y:array<string>>) stored as orc {_FULL}"
        ),
        run(
            "insert into w.typed select 1, 1Y, 2S, 3L, cast(1.5 as float), 2.25, 12345678901.1234, 'vc', 'c', true, "
            "cast('bin' as binary), date '2020-02-29', timestamp '1999-12-31 23:59:59.123456', array(1,null,2), "
            "map('a',1), named_struct('x',1,'y',array('q'))"
        ),
        run("insert into w.typed (id) values (2)"),
        compact("w.typed", "major"),
    ),
    "bucketed": (
        run(f"create table w.bucketed (id int, s string) clustered by (id) into 3 buckets stored as orc {_FULL}"),
        run("insert into w.bucketed values (1,'a'),(2,'b'),(3,'c'),(4,'d'),(5,'e')"),
        run("update w.bucketed set s='B' where id in (2,5)", "delete from w.bucketed where id=3"),
    ),
    **{f"only_{form}": _insert_only(form) for form in ("textfile", "parquet", "orc")},
}
"""By the table's name, in the database `w`."""
