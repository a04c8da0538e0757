"""What REPL commands come to: WITH, the scope of a dump, which dump follows which, what a replaced policy drops."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pysync.base.errors import PysyncError, UsageError
from pysync.cli.dump import print_plans
from pysync.dump.index import open_dump
from pysync.dump.manifest import Within, are_same, needs_definitions, read_manifest, scope_of
from pysync.dump.taken import Taken, by_scope, last_taken, note_begun, note_taken
from pysync.dump.write import DumpSelection, newest_within
from pysync.jobs.dumping import DumpRequest
from pysync.jobs.load_guard import refuse_unfit
from pysync.jobs.repl import _files, repl_status, root_of, wanted
from pysync.jobs.repl_options import (
    ACID,
    EXTERNAL,
    KEEP,
    METADATA_ONLY,
    NEW_ACID,
    NEW_EXTERNAL,
    ROOT,
    DumpOptions,
    dump_options,
    load_options,
    local_path,
    status_options,
)
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, DropTable, Refresh
from pysync.queue import EventQueue, note_of
from pysync.replay.window.leaving import Replaced, leaving, replaced_json
from pysync.replay.window.repl_statement import ReplDump, ReplStatus
from pysync.replay.window.translate import Translator
from pysync.resync.wanted import EVERYTHING
from tests.support import table
from tests.support.dumped import ASKED, Source, filled, write
from tests.support.events import settings
from tests.support.notifications import row, served
from tests.support.refreshing import Target, refreshing

SALES = Within(policy="sales")
NOT_EXTERNAL = ("MANAGED_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW")

# --- WITH


def test_with_says_what_is_dumped_and_where() -> None:
    reported = dump_options(
        {ROOT: "/r", KEEP: "36h", METADATA_ONLY: "TRUE", EXTERNAL.upper(): "false", ACID: " False ", "hive.x": "1"}
    )
    assert reported == DumpOptions(Path("/r"), 36 * 3600, "none", external=False, acid=False, ignored=("hive.x",))
    assert dump_options({}) == DumpOptions()
    assert dump_options({METADATA_ONLY: "false", KEEP: "2"}) == DumpOptions(keep=2 * 86400, files="copy")
    assert load_options({METADATA_ONLY: "true", ROOT: "/r"}) == ("none", (ROOT,))
    assert load_options({}) == ("copy", ())
    assert status_options({"a": "b"}) == ("a",)


@pytest.mark.parametrize(
    ("key", "value", "reported"),
    [
        (METADATA_ONLY, "yes", "'yes' is not a boolean; write 'true' or 'false'"),
        (EXTERNAL, "", "'' is not a boolean"),
        (KEEP, "soon", "'soon' is not a time; write '12h' or '7d'"),
        (KEEP, "0", "'0' is not a time"),
        (KEEP, "99999d", "is too long"),
        (ROOT, "hdfs://nn/repl", "'hdfs://nn/repl' is not a directory of this machine; write a path"),
        (ROOT, "", "the path is empty"),
        (ROOT, "a\x1bb", "cannot be printed"),
    ],
)
def test_a_value_that_cannot_be_read_is_told_with_its_key(key: str, value: str, reported: str) -> None:
    with pytest.raises(UsageError) as refused:
        dump_options({key: value})
    assert str(refused.value).startswith(f"WITH: {key}")
    assert reported in str(refused.value)


@pytest.mark.parametrize(("new", "key"), [(NEW_EXTERNAL, EXTERNAL), (NEW_ACID, ACID)])
def test_what_is_not_taken_cannot_be_new(new: str, key: str) -> None:
    with pytest.raises(UsageError, match=r"contradicts .*leave one of them out"):
        dump_options({new: "true", key: "false"})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a/b", "/a/b"),
        ("a", "a"),
        ("file:/a", "/a"),
        ("file:///a b", "/a b"),
        ("FILE:///a", "/a"),
        ("x/a:/b", "x/a:/b"),
    ],
)
def test_a_directory_is_a_path_or_a_uri_of_a_file(text: str, path: str) -> None:
    assert local_path(text, "x") == Path(path)


@pytest.mark.parametrize("text", ["hdfs://nn/a", "s3a://b/a", "hdfs:/a", "file://host/a"])
def test_a_directory_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a directory of this machine"):
        local_path(text, "REPL LOAD")


@given(some.dictionaries(some.text(max_size=5) | some.sampled_from([ROOT, EXTERNAL, KEEP]), some.text(max_size=5)))
def test_every_key_means_something_or_is_named(given_: dict[str, str]) -> None:
    try:
        ignored = dump_options(given_).ignored
    except UsageError:
        return
    assert set(ignored) == {it for it in given_ if it.strip().lower() not in {ROOT, EXTERNAL, KEEP}}


# --- what a statement wants of a dump


def asked(policy: str = "sales", replaces: str | None = None, **with_: str) -> DumpRequest:
    found = {key.replace("_", "."): value for key, value in with_.items()}
    statement = ReplDump(policy, replaces, 200, 1400, 100, found)
    return wanted(statement, dump_options(found), "none")


def test_a_statement_wants_a_dump_of_its_policy() -> None:
    assert asked() == DumpRequest(SALES, 200, 1400, 100, "none", None)
    assert asked("sales.['a']", "sales").former == SALES


def test_external_and_transactional_tables_come_whole_when_they_are_new() -> None:
    options = dump_options({NEW_EXTERNAL: "true", NEW_ACID: "true"})
    assert options.within("sales") == SALES
    former = options.former("sales", None)
    assert former is not None
    assert former.include_types == NOT_EXTERNAL
    assert "transactional=true" in former.exclude_parameters
    alone = dump_options({EXTERNAL: "false", NEW_ACID: "true"})
    assert alone.within("sales").include_types == alone.former("sales", "sales").include_types == NOT_EXTERNAL


def test_data_files_come_if_with_says_so_or_else_if_a_target_copies() -> None:
    def config(**values: Any) -> Any:
        return SimpleNamespace(targets=[settings(**values)])

    assert [_files(config(copy=it), DumpOptions()) for it in (True, False)] == ["copy", "none"]
    assert _files(config(copy=True), DumpOptions(files="none")) == "none"
    assert _files(config(), DumpOptions(files="copy")) == "copy"


def test_without_a_root_nothing_is_dumped() -> None:
    config: Any = SimpleNamespace(dump=SimpleNamespace(root=None, keep=1))
    with pytest.raises(UsageError, match=r"set \[dump\] root, or give --root DIRECTORY"):
        root_of(config, ReplDump("sales", None, None, None, None, {}), None)


def test_the_root_is_that_of_with_or_of_the_option_or_of_the_configuration() -> None:
    config: Any = SimpleNamespace(dump=SimpleNamespace(root=Path("/c"), keep=1))
    with_root = ReplDump("sales", None, None, None, None, {ROOT: "/w"})
    without = ReplDump("sales", None, None, None, None, {})
    found = [root_of(config, it, root) for it in (with_root, without) for root in (Path("/o"), None)]
    assert list(map(str, found)) == ["/w", "/w", "/o", "/c"]
    assert root_of(config, without, Path("here")).is_absolute()


def test_a_policy_only_replaces_one_of_the_same_database() -> None:
    DumpRequest(Within(policy="sales.['a']"), former=Within(policy="Sales")).check()
    for within, reported in [
        (None, "--replace needs --policy"),
        (Within(include=("sales",)), "--replace needs --policy"),
        (Within(policy="crm"), "can only replace one of the same database"),
    ]:
        with pytest.raises(UsageError, match=reported):
            DumpRequest(within, former=SALES).check()


# --- what is dumped


def test_a_limit_counts_what_the_scope_takes_and_no_more() -> None:
    names = ["a", "x", "b", "x", "a", "b"]
    rows = [row(at, database="sales", table=name) for at, name in enumerate(names, 1)]
    scope = scope_of([Within(policy="sales.['a', 'b']")])
    with served(rows) as log, Metastore(log.uri) as source:
        assert [newest_within(source, scope, 0, None, limit) for limit in (1, 2, 3, 4, 5)] == [1, 3, 5, 6, 6]
        assert newest_within(source, scope, 0, 4, 3) == 4
        assert newest_within(source, scope, 5, None, 1) == 6
        assert newest_within(source, scope_of([Within(policy="sales.[]")]), 0, None, 1) == 6, "no event is about it"
        log.log.rows.append(row(7, database="sales", table=None))
        assert newest_within(source, scope_of([Within(policy="sales.[]")]), 0, None, 1) == 7, "of the database"


def test_a_dump_of_changes_has_what_is_new_in_its_policy_whole(tmp_path: Path) -> None:
    source = filled()
    scope, former = scope_of([Within(policy="db")]), scope_of([Within(policy="db.['plain']")])
    changed = frozenset({TableName("db", "gone")})
    write(tmp_path / "one", source, DumpSelection(scope, changed, former))
    assert list(open_dump(tmp_path / "one").tables()) == [TableName("db", "days")]
    write(tmp_path / "two", source, DumpSelection(scope, changed))
    assert list(open_dump(tmp_path / "two").tables()) == []


def test_a_scope_looks_at_definitions_if_it_is_told_to(tmp_path: Path) -> None:
    source = Source("db.far", "db.near")
    source.found[TableName("db", "near")].tableType = "MANAGED_TABLE"
    source.found[TableName("db", "near")].parameters = {}
    source.found[TableName("db", "far")].tableType = "EXTERNAL_TABLE"
    narrow, wide = (scope_of([Within(policy="db", include_types=it)]) for it in (NOT_EXTERNAL, ()))
    write(tmp_path / "one", source, DumpSelection(narrow))
    assert list(open_dump(tmp_path / "one").tables()) == [TableName("db", "near")]
    write(tmp_path / "two", source, DumpSelection(wide, frozenset(), narrow, by_definition=True))
    assert list(open_dump(tmp_path / "two").tables()) == [TableName("db", "far")]
    assert needs_definitions([Within(include_types=NOT_EXTERNAL)])
    assert not needs_definitions([SALES])


def test_a_manifest_with_another_scope_is_read_as_it_was_written() -> None:
    more = ASKED.model_copy(
        update={"replaces": (SALES,), "within": (Within(policy="sales", include_types=NOT_EXTERNAL),)}
    )
    assert read_manifest(io.BytesIO(more.to_bytes())) == more


def test_scopes_are_the_same_whatever_their_form() -> None:
    for one, other in [
        (Within(policy="sales"), Within(include=("SALES",))),
        (Within(policy="sales.['a', 'b']"), Within(policy='sales.["b","a"]')),
        (Within(policy="sales.'a'"), Within(policy="sales.['a']")),
        (Within(policy="sales.t"), Within(include=("sales.t", "sales.t"))),
    ]:
        assert are_same([one], [other, one])
    for one, other in [
        (Within(policy="sales"), Within(policy="crm")),
        (Within(policy="sales"), Within(policy="sales.['.*']")),
        (Within(policy="sales"), Within(policy="sales", include_types=NOT_EXTERNAL)),
    ]:
        assert not are_same([one], [other])


# --- which dump follows which


def manifest(upto: int, policy: str = "sales", **changes: Any) -> Any:
    return ASKED.model_copy(update={"id": f"d{upto}", "upto": upto, "within": (Within(policy=policy),), **changes})


def test_dumps_of_several_policies_may_come_in_turn(reopen) -> None:
    queue = reopen()
    for made in (manifest(10), manifest(20, "crm")):
        note_begun(queue, "dr", made)
        note_taken(queue, "dr", made)
    assert last_taken(queue.notes, "dr") == Taken.of(manifest(20, "crm"))
    refuse_unfit(queue, manifest(30, since=10), "dr")
    with pytest.raises(PysyncError, match=r"after notification 15, but target dr has dumps up to 10"):
        refuse_unfit(queue, manifest(30, since=15), "dr")
    refuse_unfit(queue, manifest(30, "crm", since=15), "dr")
    with pytest.raises(PysyncError, match="another scope"):
        refuse_unfit(queue, manifest(30, "hr", since=15), "dr")
    note_taken(queue, "dr", manifest(30, since=10))
    assert [it.upto for it in by_scope(queue.notes, "dr")] == [20, 30]


def test_a_replaced_policy_is_followed_by_the_new_one_alone(reopen) -> None:
    queue = reopen()
    note_taken(queue, "dr", manifest(10))
    new = manifest(20, "sales.['a']", since=10, replaces=(SALES,))
    refuse_unfit(queue, new, "dr")
    with pytest.raises(PysyncError, match="another scope"):
        refuse_unfit(queue, manifest(20, "sales.['a']", since=10), "dr")
    note_taken(queue, "dr", new)
    refuse_unfit(queue, new, "dr")  # again
    refuse_unfit(queue, manifest(30, "sales.['a']", since=20), "dr")
    with pytest.raises(PysyncError, match="another scope"):
        refuse_unfit(queue, manifest(30, since=20), "dr")
    assert len(by_scope(queue.notes, "dr")) == 1


def test_what_an_older_pysync_noted_is_read(reopen) -> None:
    queue = reopen()
    assert by_scope(queue.notes, "dr") == []
    queue.notes.put(note_of("dr", "load"), Taken.of(manifest(7)).model_dump_json())
    assert [it.upto for it in by_scope(queue.notes, "dr")] == [7]
    refuse_unfit(queue, manifest(9, since=7), "dr")
    note_taken(queue, "dr", manifest(9, "crm"))
    assert [it.upto for it in by_scope(queue.notes, "dr")] == [7, 9]
    queue.notes.put(note_of("dr", "load:scopes"), "of a newer pysync")
    assert [it.upto for it in by_scope(queue.notes, "dr")] == [9]


# --- REPL STATUS


@pytest.mark.parametrize(
    ("name", "upto"),
    [
        *[("sales", 30), ("sales.a", 30), ("sales.b", 10), ("hr", None)],
        *[(name, 20) for name in ("crm2", "crm2.x", "crm", "crm.x")],  # of a rename either name
    ],
)
def test_the_status_is_that_of_the_last_load_of_an_object(name: str, upto: int | None, reopen, tmp_path: Path) -> None:
    queue = reopen()
    queue.target("dr").register()
    for made in (manifest(10), manifest(20, "crm"), manifest(30, "sales.['a']")):
        note_taken(queue, "dr", made)
    queue.close()
    database, _, of = name.partition(".")
    for target, expected in ((settings(databases={"crm": "crm2"}), upto), (settings(include=["none"]), None)):
        config: Any = SimpleNamespace(queue=SimpleNamespace(directory=tmp_path), targets=[target])
        assert repl_status(config, ReplStatus(database, of or None, {}), ["dr"]) == {"dr": expected}


def test_the_status_is_read_from_the_queue_where_no_sidecar_runs(tmp_path: Path) -> None:
    where: Any = SimpleNamespace(directory=tmp_path / "queue")
    config: Any = SimpleNamespace(queue=where, targets=[settings()])
    assert repl_status(config, ReplStatus("sales", None, {}), ["dr"]) == {"dr": None}
    assert not where.directory.exists(), "to ask makes no queue"
    with EventQueue(where.directory, min_free_bytes=0) as queue:
        queue.target("dr").register()
        note_taken(queue, "dr", manifest(10))
    assert repl_status(config, ReplStatus("sales", None, {}), ["dr"]) == {"dr": 10}


# --- what a replaced policy drops


def replacing(translator: Translator, former: list[Any], replaced: str) -> Refresh:
    """The refresh by which a load drops what a replaced policy leaves."""
    found = refreshing({"former": json.dumps(former), "replaced": replaced, "upto": "0"}, translator)
    assert isinstance(found, Refresh)
    return found


NAMES = some.sampled_from(["a", "b", "c", "d"])
POLICIES = some.sampled_from(
    ["sales", "sales.a", "sales.['a', 'b']", "sales.['.*'].['b|c']", "sales.[]", "sales.['[a-c]'].['a']"]
)


@given(POLICIES, POLICIES, some.sets(NAMES), some.sampled_from([None, "sales", "sales.['a', 'c']"]), some.booleans())
def test_only_what_the_old_policy_took_and_the_new_one_does_not_is_dropped(old, new, there, own, renamed) -> None:
    """Of what this source wrote, and of what the target's own policy takes; whatever the names at the target are."""
    databases = {"sales": "s2"} if renamed else {}
    target = Target()
    for name in there:
        target.has(f"{databases.get('sales', 'sales')}.{name}")
    target.has("sales.theirs", source=None)
    target.has("crm.a")
    values = {"databases": databases, **({"policy": own} if own else {})}
    translator = Translator.of(settings(**values))
    replaced = replaced_json([{"policy": old}], [{"policy": new}])
    refresh = replacing(translator, [values], replaced)
    dropped = list(leaving(target, translator, refresh))
    assert not any(isinstance(it, DropDatabase) for it in dropped)
    takes = [scope_of([Within(policy=it)]).table for it in (old, new, own or "sales")]
    wanted_ = {name for name in there if takes[0](at := TableName("sales", name)) and not takes[1](at) and takes[2](at)}
    assert {it.table.table for it in dropped if isinstance(it, DropTable)} == wanted_


def test_what_a_former_scope_of_the_target_took_is_dropped_too() -> None:
    """pysync.toml has the new policy already, when the dump comes that replaces the old one."""
    target = Target()
    for name in ("sales.a", "sales.b"):
        target.has(name)
    translator = Translator.of(settings(policy="sales.['a']"))
    replaced = replaced_json([{"policy": "sales"}], [{"policy": "sales.['a']"}])
    everything = replacing(translator, [{}], replaced)
    assert [it.key for it in leaving(target, translator, everything)] == ["sales.b"]
    no_more = replacing(translator, [{"policy": "sales.['a']"}], replaced)
    assert list(leaving(target, translator, no_more)) == []


def test_a_table_that_comes_under_the_name_of_a_left_one_stays() -> None:
    target = Target()
    target.has("sales.b")
    translator = Translator.of(settings(tables={"sales.a": "sales.b"}))
    replaced = replaced_json([{"policy": "sales"}], [{"policy": "sales.['a']"}])
    assert list(leaving(target, translator, replacing(translator, [{}], replaced))) == []
    assert Replaced.from_json(replaced).is_left(TableName("sales", "b"))


def test_everything_is_in_scope_where_nothing_is_said() -> None:
    assert EVERYTHING.definition(TableName("db", "t"), table("db", "t"))


def test_a_scope_that_a_load_has_begun_to_replace_is_followed_by_that_load_alone(reopen) -> None:
    """Some of its tables may be gone, and no dump of changes would bring them back."""
    queue = reopen()
    note_taken(queue, "dr", manifest(10))
    new = manifest(20, "sales.['a']", since=10, replaces=(SALES,))
    note_begun(queue, "dr", new)
    refuse_unfit(queue, new, "dr")
    for other in (manifest(30, since=10), manifest(30, "sales.['b']", since=10, replaces=(SALES,))):
        with pytest.raises(PysyncError, match="a load has begun to replace that scope"):
            refuse_unfit(queue, other, "dr")
    note_begun(queue, "dr", manifest(25, "crm"))
    with pytest.raises(PysyncError, match="a load has begun to replace that scope"):
        refuse_unfit(queue, manifest(30, since=10), "dr")
    refuse_unfit(queue, manifest(30), "dr")
    note_taken(queue, "dr", manifest(30))
    refuse_unfit(queue, manifest(40, since=30), "dr")


def test_a_kill_between_the_notes_of_a_load_loses_no_order(reopen, monkeypatch) -> None:
    queue = reopen()
    note_taken(queue, "dr", manifest(10))
    new = manifest(20, "sales.['a']", since=10, replaces=(SALES,))
    note_begun(queue, "dr", new)
    with monkeypatch.context() as patch:
        patch.setattr("pysync.dump.taken._keep", lambda *_: None)
        note_taken(queue, "dr", new)
    assert [it.upto for it in by_scope(queue.notes, "dr")] == [10, 20]
    refuse_unfit(queue, manifest(30, "sales.['a']", since=20), "dr")
    with pytest.raises(PysyncError, match="has begun to replace"):
        refuse_unfit(queue, manifest(30, since=10), "dr")


# --- what a load would do, as people see it


def plan_of(**values: Any) -> dict[str, Any]:
    plan = {"target": "dr", "lacks": {}, "put": [], "drop": [], "refused": [], "drops": 0, "max_drops_per_window": 1000}
    return {**plan, **values}


def test_a_plan_of_a_load_is_a_table_of_the_first_names_and_a_line(capsys) -> None:
    names = [f"sales.t{number:02}" for number in range(25)]
    print_plans([plan_of(put=names, drop=["sales.b"], drops=1), plan_of(max_drops_per_window=0)], as_json=False)
    out = capsys.readouterr().out
    assert [name in out for name in (names[0], names[19], names[20], "sales.b")] == [True, True, False, True]
    assert "and 5 more: --json" in out
    assert "dr: 25 tables to put where they differ; 1 drop (limit: 1000)" in out
    assert out.splitlines()[-1] == "dr: 0 tables to put where they differ; 0 drops (limit: none)"
    print_plans([plan_of(lacks={"constraints": "Glue has no constraints"})], as_json=False)
    assert capsys.readouterr().out.splitlines()[-1] == "dr has no constraints: Glue has no constraints"
    print_plans([plan_of(put=names)], as_json=True)
    assert json.loads(capsys.readouterr().out) == {"targets": [plan_of(put=names)]}
