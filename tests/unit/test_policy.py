"""Policy: which changes a target takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.model.change import decode_change
from pysync.model.event import VISITED, Kind
from pysync.model.names import TableName
from pysync.replay.window.direction import BothWays, Direction
from pysync.replay.window.policy import Policy, typed_keys
from pysync.replay.window.repl_policy import ReplPolicy, parse_policy
from pysync.targets.hms import HmsSettings
from tests.support import partition, table
from tests.support.events import change, create_table, event, one_of_each_kind, rename_table, settings

IDENTIFIERS = st.text("abcdefghij0123456789_", min_size=1, max_size=12)
TABLES = st.builds(TableName, IDENTIFIERS, IDENTIFIERS)
EACH = one_of_each_kind()
DROPS = {Kind.DROP_DATABASE, Kind.DROP_TABLE, Kind.DROP_PARTITION}


@pytest.mark.parametrize(
    ("values", "name", "rule"),
    [
        ({}, "db.t", None),
        ({"include": ["db"]}, "db.t", None),
        ({"include": ["db", "crm.c*"]}, "hr.t", "it is not in include 'db', include 'crm.c*'"),
        ({"include": ["db"], "exclude": ["db.t*"]}, "db.tmp", "exclude 'db.t*' leaves it out"),
        ({"exclude": ["d*"]}, "DB.t", "exclude 'd*' leaves it out"),
        ({"policy": "db.'a.*'.'ab.*'"}, "db.abc", "policy \"db.'a.*'.'ab.*'\" leaves it out"),
        ({"policy": "db.'a.*'"}, "db.b", "it is not in policy \"db.'a.*'\""),
        ({"exclude": ["db.t"]}, "db", None),
        ({"exclude": ["crm.t", "db"]}, "db", "exclude 'db' leaves it out"),
        ({"include": ["db.t"]}, "crm", "it is not in include 'db.t'"),
    ],
)
def test_the_rule_that_leaves_an_object_out_is_named(values: dict[str, Any], name: str, rule: str | None) -> None:
    policy = Policy.of(settings(**values))
    assert policy.rule_against(TableName.parse(name) if "." in name else name) == rule


@pytest.mark.parametrize(
    ("values", "name", "rule"),
    [
        ({}, "pysync_trash.t", None),
        ({"drops": "trash"}, "pysync_trash.t", "trash_database 'pysync_trash' leaves it out"),
        ({"drops": "trash", "trash_database": "bin"}, "bin", "trash_database 'bin' leaves it out"),
        ({"drops": "trash", "trash_database": "bin"}, "pysync_trash", None),
    ],
)
def test_what_the_source_keeps_in_its_own_trash_is_left_out(
    values: dict[str, Any], name: str, rule: str | None
) -> None:
    found = Policy.of(HmsSettings(name="dr", kind="hms", metastore="thrift://h", **values))
    assert found.rule_against(TableName.parse(name) if "." in name else name) == rule


def policy(**values) -> Policy:
    return Policy.of(settings(**values))


def takes(name: str, **values) -> bool:
    return policy(**values).takes_table(TableName.of(*name.split(".")))


def scoped(event, **values):
    return policy(**values).scope(decode_change(event, 1))


@given(TABLES)
def test_without_patterns_everything_is_taken(name):
    assert policy().takes_table(name)
    assert policy().takes_database(name.database)


@given(TABLES)
def test_a_name_is_a_pattern_for_itself(name):
    assert takes(str(name), include=[str(name)])
    assert not takes(str(name), exclude=[str(name)])


@given(TABLES, TABLES)
def test_a_name_is_no_pattern_for_another(name, other):
    assert takes(str(other), include=[str(name)]) is (name == other)


@given(TABLES, st.lists(st.sampled_from(["*", "*.*", "a*", "a*.b*", "*.?", "b.*"]), max_size=3))
def test_what_is_excluded_is_not_taken_though_included(name, include):
    assert not takes(str(name), include=include, exclude=[name.database])
    assert not policy(include=include, exclude=[name.database]).takes_database(name.database)


@pytest.mark.parametrize(
    ("include", "exclude", "taken", "left"),
    [
        (["sales"], [], ["sales.a", "sales.b"], ["sales2.a", "presales.a", "other.sales"]),
        (["sales.orders"], [], ["sales.orders"], ["sales.orders2", "sales.order", "x.orders"]),
        (["SALES.Orders"], [], ["sales.orders"], ["sales.x"]),
        (["s?les.o*"], [], ["sales.o", "sales.orders"], ["ssles2.o", "sales.xo"]),
        (["a", "b.t"], [], ["a.x", "b.t"], ["b.u"]),
        ([], ["*.tmp_*"], ["a.t", "a.xtmp_1"], ["a.tmp_1"]),
        (["a"], ["a.tmp*"], ["a.t"], ["a.tmp", "b.t"]),
    ],
)
def test_include_and_exclude(include, exclude, taken, left):
    assert [name for name in taken if not takes(name, include=include, exclude=exclude)] == []
    assert [name for name in left if takes(name, include=include, exclude=exclude)] == []


@pytest.mark.parametrize(
    ("text", "taken", "left"),
    [
        ("sales", ["sales.a"], ["sale.a", "xsales.a"]),
        ("sales*", ["sales.a", "sales_eu.a"], ["xsales.a"]),
        ("sales.'orders|items'", ["sales.orders", "sales.items"], ["sales.orders2", "x.orders"]),
        ("sales.'ORDERS'", ["sales.orders"], []),
        ("sales.'.*'.'tmp_.*'", ["sales.t"], ["sales.tmp_1", "x.t"]),
        ("sales.'a.*'.'ab|ac'", ["sales.a", "sales.abc"], ["sales.ab", "sales.ac", "sales.b"]),
        ("sales.''", [], ["sales.a"]),
        ("  sales  ", ["sales.a"], []),
        ("sales.orders", ["sales.orders"], ["sales.orders2", "x.orders"]),
        ("sales.['T3', '[a-z]+']", ["sales.t3", "sales.orders", "sales.stores"], ["sales.t4", "sales.q_1", "x.t3"]),
        (
            "sales.['.*?'].['T[0-9]+', 'Q4']",
            ["sales.t", "sales.orders", "sales.t3x"],
            ["sales.t3", "sales.t400", "sales.T255", "sales.q4", "x.orders"],
        ),
        ("sales.['[a-z]+', 'Q5']", ["sales.products", "sales.q5"], ["sales.t5"]),
        ("sales.[]", [], ["sales.a", "x.a"]),
        ("sales.['.*'].[]", ["sales.a"], ["x.a"]),
        ('sales.["a,b]*", \'c\'] . [ "c" ]'.replace(" . ", "."), ["sales.a,b]]"], ["sales.c", "sales.a"]),
        ("sales.'a'.['aa', 'ab']", ["sales.a"], ["sales.aa"]),
    ],
)
def test_the_policies_of_hive_replication(text, taken, left):
    assert [name for name in taken if not takes(name, policy=text)] == []
    assert [name for name in left if takes(name, policy=text)] == []


def test_a_database_of_which_some_tables_are_taken_is_taken_itself():
    some = policy(include=["sales.o*"], exclude=["sales.old", "hr"])
    assert some.takes_database("Sales")
    assert not some.takes_database("hr")
    assert not some.takes_database("other")


def test_a_policy_without_tables_takes_the_database_for_its_functions():
    functions = policy(policy="sales.[]")
    assert functions.takes_database("sales")
    assert functions.rule_for("sales") == "policy 'sales.[]'"
    assert not functions.takes_database("hr")


NAMES = st.text("abcxyz019_", min_size=1, max_size=6)
STRINGS = st.text(st.characters(codec="utf-8", exclude_characters="'\""), max_size=6)
LISTS = st.lists(STRINGS, max_size=3).map(tuple)


def written(strings, quote):
    return "[" + ", ".join(f"{quote}{it}{quote}" for it in strings) + "]"


@given(NAMES, LISTS, st.none() | LISTS, st.sampled_from("'\""))
def test_a_policy_is_read_as_it_was_written(database, include, exclude, quote):
    text = ".".join([database, *(written(it, quote) for it in (include, exclude) if it is not None)])
    assert parse_policy(text) == ReplPolicy(database, None, include, exclude or ())


@given(st.text(st.characters(codec="utf-8"), max_size=15))
def test_any_text_is_a_pattern_or_a_refusal_that_names_it(text):
    for setting in ({"include": [text]}, {"exclude": [text]}, {"policy": text}):
        try:
            policy(**setting).takes_table(TableName("a", "b"))
        except UsageError as error:
            assert repr(text) in str(error)  # noqa: PT017 - most texts are patterns


@pytest.mark.parametrize("text", ["", ".", "a.", ".b", "a.b.c"])
@pytest.mark.parametrize("setting", ["include", "exclude"])
def test_what_is_no_pattern_is_refused_by_name(setting, text):
    with pytest.raises(UsageError) as refused:
        policy(**{setting: [text]})
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    "text", ["a.b.c", "a.['b'", "a.['b'].['c'].['d']", "a.['b' 'c']", "a.[b]", "a.b['c']", "a.['b',]"]
)
def test_what_hive_does_not_take_is_no_policy_either(text):
    with pytest.raises(UsageError) as refused:
        policy(policy=text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("text", ["", "a.'b", "a.'b'.c", "a.'b'.'c'.'d'", "a b"])
def test_what_is_no_policy_is_refused_by_name(text):
    with pytest.raises(UsageError) as refused:
        policy(policy=text)
    assert repr(text) in str(refused.value)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("expression", ["([a-z]+_?)+", "(a|a)*", "(.*)*", "(a*)*b", "([a-z]*[a-z]*)*2"])
def test_no_name_keeps_an_expression_from_its_end(expression):
    taken = policy(policy=f"d.['{expression}']").takes_table
    assert not taken(TableName("d", f"{'a' * 61}1?")) or expression == "(.*)*"


def test_half_a_character_in_a_name_stops_nothing():
    taken = policy(policy="d.['t.*']").takes_table
    assert not taken(TableName("d", "u\ud800"))
    assert taken(TableName("d", "t1"))


@pytest.mark.parametrize("text", ["a.'('", "a.'b'.'['", "a.'b{99999999999}'", "a.'(?!tmp)x'"])
def test_a_regular_expression_that_is_none_is_refused_with_its_policy(text):
    with pytest.raises(UsageError, match="not a regular expression") as refused:
        policy(policy=text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("kind", EACH)
def test_every_kind_is_taken_where_its_table_is_and_left_where_it_is_not(kind):
    found = change(kind, **EACH[kind])
    assert policy(include=["db"]).scope(found) is found
    assert policy(exclude=["db"]).scope(found) is None
    if found.table_name is not None:
        assert policy(include=["db.other"]).scope(found) is None


@pytest.mark.parametrize("kind", EACH)
def test_an_excluded_kind_is_left_out_and_no_other(kind):
    found = change(kind, **EACH[kind])
    assert policy(exclude_kinds=[kind.value]).scope(found) is None
    assert policy(exclude_kinds=[other.value for other in Kind if other is not kind]).scope(found) is found


@pytest.mark.parametrize("kind", EACH)
def test_suppressed_drops_are_those_that_lose_tables_or_data(kind):
    suppressed = policy(drops="suppress").scope(change(kind, **EACH[kind])) is None
    assert suppressed is (kind in DROPS)


RENAME = rename_table("db.old", "db.new")


def test_a_rename_within_the_scope_stays_a_rename():
    found = scoped(RENAME, include=["db"])
    assert (found.kind, str(found.table_name), str(found.new_table_name)) == (Kind.ALTER_TABLE, "db.old", "db.new")


def test_a_rename_out_of_the_scope_is_a_drop():
    found = scoped(RENAME, include=["db.old"], out_of_scope="drop")
    assert (found.kind, found.keys, len(found.before), found.after) == (Kind.DROP_TABLE, {"db.old"}, 1, [])


def test_a_rename_into_the_scope_is_a_create():
    found = scoped(RENAME, include=["db.new"])
    assert (found.kind, found.keys, found.before, len(found.after)) == (Kind.CREATE_TABLE, {"db.new"}, [], 1)


def test_a_rename_outside_the_scope_is_left_out():
    assert scoped(RENAME, include=["db.other"]) is None


def test_a_rename_out_of_the_scope_is_suppressed_like_any_drop():
    assert scoped(RENAME, include=["db.old"], drops="suppress") is None
    assert scoped(RENAME, include=["db.old"], exclude_kinds=["DROP_TABLE"]) is None


def test_a_rename_into_the_scope_is_excluded_like_any_create():
    assert scoped(RENAME, include=["db.new"], exclude_kinds=["CREATE_TABLE"]) is None


def test_a_foreign_key_goes_only_where_both_of_its_tables_are():
    key = event(Kind.ADD_FOREIGNKEY, **one_of_each_kind()[Kind.ADD_FOREIGNKEY])
    assert scoped(key, include=["db"]) is not None
    assert scoped(key, include=["db.t"]) is None
    assert scoped(key, include=["db.p"]) is None


def test_a_rename_between_databases_is_seen_from_each():
    moved = rename_table("a.t", "b.t")
    assert scoped(moved, include=["a"]).kind is Kind.DROP_TABLE
    assert scoped(moved, include=["b"]).kind is Kind.CREATE_TABLE
    assert scoped(moved, include=["a", "b"]).kind is Kind.ALTER_TABLE


def test_the_change_that_came_in_is_not_altered_by_a_rename_out_of_scope():
    found = decode_change(RENAME, 1)
    policy(include=["db.old"]).scope(found)
    assert (found.kind, len(found.after)) == (Kind.ALTER_TABLE, 1)


@pytest.mark.parametrize(
    ("visited", "cluster", "sent"),
    [
        ("", "west", True),
        ("east", "west", True),
        ("west", "west", False),
        ("east,west", "west", False),
        ("westend", "west", True),
        ("", "onprem", False),
        ("dr", None, False),
        ("dr", "west", True),
    ],
)
def test_a_change_is_not_sent_to_a_cluster_that_it_has_visited(visited, cluster, sent):
    event = create_table("db.t", environment={VISITED: visited} if visited else {})
    assert (scoped(event, cluster=cluster) is not None) is sent


PATTERNS = st.lists(st.sampled_from(["*", "*.*", "a*", "a*.b*", "*.?", "b.*", "c?"]), max_size=3)


@given(TABLES, PATTERNS, PATTERNS)
def test_what_is_taken_has_a_rule_for_it_and_all_else_one_against_it(name, include, exclude):
    found = policy(include=include, exclude=exclude)
    for it, taken in ((name, found.takes_table(name)), (name.database, found.takes_database(name.database))):
        assert found.takes(it) is taken
        assert (found.rule_against(it) is None) is taken
        if taken and include:
            assert found.rule_for(it).removeprefix("include ").strip("'") in include
        elif taken:
            assert found.rule_for(it) == "it has no include and no policy"


def test_the_rule_for_a_table_may_be_a_policy_of_hives_replication():
    assert policy(policy="db.t*").rule_for(TableName("db", "t1")) == "policy 'db.t*'"


@pytest.mark.parametrize("cascade", [True, False])
def test_whether_a_drop_cascades_is_for_the_settings_to_say(cascade):
    assert policy(cascade=cascade).cascade is cascade


def test_a_foreign_key_that_is_read_at_the_source_goes_only_where_its_other_table_is():
    (foreign,), (primary,) = (EACH[it]["after"] for it in (Kind.ADD_FOREIGNKEY, Kind.ADD_PRIMARYKEY))
    assert [policy(include=[it]).takes_constraint(foreign) for it in ("db", "db.t", "db.p")] == [True, False, True]
    assert policy(include=["db.p"]).takes_constraint(primary)


@pytest.mark.parametrize("kind", [Kind.CREATE_TABLE, Kind.ADD_PARTITION, Kind.DROP_TABLE])
def test_of_the_table_of_an_index_only_the_drop_is_taken(kind):
    index = table("db", "t", partition_keys=[("day", "string")])
    index.tableType = "INDEX_TABLE"
    day = {"of": index, "after": [partition(index, ["1"])]}
    what = {Kind.CREATE_TABLE: {"after": [index]}, Kind.ADD_PARTITION: day, Kind.DROP_TABLE: {"before": [index]}}
    assert (scoped(event(kind, **what[kind])) is not None) is (kind is Kind.DROP_TABLE)


def test_the_type_of_a_partition_key_may_be_unknown():
    keyed = table("db", "t", partition_keys=[("day", "string"), ("city", None)])
    assert typed_keys(keyed) == [("day", "string"), ("city", "")]
    assert typed_keys(table("db", "t")) == []


@pytest.mark.parametrize(
    ("direction", "taken"),
    [(Direction("dr"), False), (BothWays("dr", relays=True), True), (BothWays("dr", relays=False), False)],
)
def test_that_changes_may_be_lost_is_for_targets_with_clusters_behind_them(direction, taken):
    request = event(Kind.REFRESH, attributes={"reread": "true"})
    assert (replace(policy(), direction=direction).scope(decode_change(request, 1)) is not None) is taken


def test_a_rule_has_the_text_of_pysync_toml_and_no_doubled_backslashes():
    assert policy(policy=r"db.['t\d+']").rule_for(TableName("db", "t1")) == r"""policy "db.['t\d+']" """.strip()
