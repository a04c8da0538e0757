"""Several policies of one target: the first that takes an object decides what becomes of it."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.jobs.dumping import _within
from pysync.jobs.dumping import scope_of as dump_scope
from pysync.jobs.policy_trial import Definition, tried
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.scope import Extent, changes, scope_of
from pysync.replay.window.translate import Translator
from pysync.sidecar.reload import changed
from pysync.targets.hms import HmsSettings
from pysync.targets.settings import TargetSettings
from pysync.verify.rules import Rules
from tests.support import partition, table
from tests.support.drains import FaultyDrain, create, create_database, drop, drop_database, rename
from tests.support.events import change, database, settings
from tests.support.refreshing import Hms, Target, apply
from tests.unit.test_rivals import run

EU = {
    "name": "eu",
    "include": ["eu_*", "all.eu_*"],
    "databases": {"eu_*": "europe_*"},
    "tables": {"all.eu_*": "europe_all.*"},
    "locations": {"hdfs://eu": "s3://eu"},
    "parameters": {"region": "eu"},
    "drops": "suppress",
}
US = {"name": "us", "include": ["us_*"], "exclude": ["us_test"], "locations": {}, "drop_parameters": ["secret"]}
REST = {"name": "rest", "policy": "all", "exclude_kinds": ["CREATE_FUNCTION"]}
TARGET = {
    "exclude": ["*.tmp_*"],
    "databases": {"us_*": "america_*"},
    "locations": {"hdfs://eu": "s3://other"},
    "parameters": {"from": "pysync"},
    "policies": [EU, US, REST],
}


def of(**values: Any) -> TargetSettings:
    return settings(**values)


POLICY, MAPPING = Policy.of(of(**TARGET)), NameMapping.of(of(**TARGET))


@pytest.mark.parametrize(
    ("name", "policy", "there"),
    [
        ("eu_a.t", "eu", "europe_a.t"),
        ("all.eu_t", "eu", "europe_all.t"),
        ("all.other", "rest", "all.other"),
        ("us_a.t", "us", "america_a.t"),
        ("us_a.tmp_1", "us", "america_a.tmp_1"),  # its own exclude replaces the target's
        ("eu_a.tmp_1", None, "europe_a.tmp_1"),
        ("us_test.t", None, "america_test.t"),
        ("hr.t", None, "hr.t"),
    ],
)
def test_the_first_policy_that_takes_a_table_decides(name: str, policy: str | None, there: str) -> None:
    table_name = TableName.parse(name)
    assert POLICY.takes_table(table_name) is (policy is not None)
    assert (POLICY.deciding(table_name).name or None) == policy
    assert str(MAPPING.table(table_name)) == there
    assert table_name in MAPPING.sources_of(MAPPING.table(table_name))


def test_a_database_has_the_name_of_the_first_policy_that_takes_any_of_it() -> None:
    """A table of another policy follows its database, unless that policy's `tables` renames it."""
    policies = [
        {"name": "one", "include": ["sales.orders"], "databases": {"sales": "a"}},
        {"name": "two", "include": ["sales"], "databases": {"sales": "b"}, "tables": {"sales.x": "c.x"}},
    ]
    mapping = NameMapping.of(of(policies=policies))
    names = [str(mapping.table(TableName("sales", it))) for it in ("orders", "items", "x")]
    assert (mapping.database("sales"), names) == ("a", ["a.orders", "a.items", "c.x"])
    assert mapping.databases_of(["sales"]) == {"a", "c"}


def test_the_rule_says_which_policy_it_is_of() -> None:
    assert POLICY.rule_for(TableName("eu_a", "t")) == "policy eu: include 'eu_*'"
    assert POLICY.rule_for("all") == "policy eu: include 'all.eu_*'"
    assert POLICY.rule_against(TableName("us_test", "t")) == (
        "policy eu: it is not in include 'eu_*', include 'all.eu_*'; policy us: exclude 'us_test' leaves it out; "
        "policy rest: it is not in policy 'all'"
    )
    assert Policy.of(of(include=["a"])).rule_for("a") == "include 'a'"


@pytest.mark.parametrize(
    ("name", "location", "parameters"),
    [
        ("eu_a.t", "s3://eu/t", {"region": "eu", "secret": "1"}),
        ("us_a.t", "hdfs://eu/t", {"from": "pysync"}),  # no locations at all: not the target's either
        ("all.t", "s3://other/t", {"from": "pysync", "secret": "1"}),
    ],
)
def test_locations_and_parameters_are_those_of_the_policy(name: str, location: str, parameters: Any) -> None:
    item = table(*name.split("."), location="hdfs://eu/t", parameters={"secret": "1"}, partition_keys=[("k", "string")])
    part = partition(item, ["1"])
    part.sd.location = "hdfs://eu/t/k=1"
    found = deepcopy(item)
    MAPPING.apply_to(found)
    MAPPING.apply_to_partition(part, MAPPING.frame(item))
    assert (found.sd.location, part.sd.location) == (location, f"{location}/k=1")
    assert {
        key: found.parameters.get(key) for key in ("region", "from", "secret") if key in found.parameters
    } == parameters


def test_the_database_and_its_functions_are_rewritten_by_their_policy() -> None:
    item = database("eu_a", locationUri="hdfs://eu/eu_a.db")
    MAPPING.apply_to(item)
    assert (item.name, item.locationUri) == ("europe_a", "s3://eu/eu_a.db")


def test_traits_are_asked_of_the_policy_that_decides() -> None:
    policies = [
        {"name": "views", "include": ["a"], "include_types": ["VIRTUAL_VIEW"]},
        {"name": "any", "include": ["a", "b"]},
    ]
    policy = Policy.of(of(policies=policies))
    assert policy.rule_against_definition(table("a", "t")) is not None, "the next policy is not asked"
    assert policy.rule_against_definition(table("b", "t")) is None
    assert policy.scope(change(Kind.CREATE_TABLE, after=[table("a", "t")])) is None


@pytest.mark.parametrize(
    ("kind", "name", "excluded"),
    [
        (Kind.DROP_TABLE, TableName("eu_a", "t"), True),
        (Kind.DROP_TABLE, TableName("all", "eu_t"), True),
        (Kind.DROP_TABLE, TableName("all", "t"), False),
        (Kind.CREATE_FUNCTION, "all", False),  # its database is decided by eu, which has one table of it
        (Kind.DROP_DATABASE, "eu_a", True),
        (Kind.DROP_DATABASE, "all", True),  # it would take all.eu_t along
        (Kind.DROP_DATABASE, "us_a", False),
    ],
)
def test_kinds_are_left_out_by_the_policy_that_decides(kind: Kind, name: Any, excluded: bool) -> None:
    assert POLICY.excludes(kind, name) is excluded
    words = 'drops = "suppress"' if excluded else ""
    assert POLICY.excuse(kind, name) == words
    rules = Rules.of(of(**TARGET), "onprem")
    reported = rules.excuse("table", "extra", str(name), kind)
    assert reported == ("drops are suppressed" if excluded else "")


def test_what_a_refresh_finds_is_left_out_by_the_policy_as_well() -> None:
    target = Target()
    for name in ("eu_a.gone", "us_a.gone"):
        target.has(name)
    policies = [{"name": "eu", "include": ["eu_*"], "drops": "suppress"}, {"name": "us", "include": ["us_*"]}]
    for name in ("eu_a", "us_a"):
        source = Hms(f"{name}.t")
        apply(source, target, {"database": name, "present": "t"}, policies=policies)
    assert target.dropped() == ["us_a.gone"]


def test_a_rename_from_one_policy_into_another_takes_the_settings_along(tmp_path: Path) -> None:
    policies = [
        {"name": "a", "include": ["a"], "databases": {"a": "x"}, "parameters": {"by": "a"}},
        {"name": "b", "include": ["b"], "tables": {"b.*": "b.new_*"}, "parameters": {"by": "b"}},
    ]
    bench = FaultyDrain(tmp_path, policies=policies)
    run(bench, create_database("a"), create_database("b"), create("a.t"), create("a.u"), create("c.t"))
    run(bench, rename("a.t", "b.t"), drop("a.u"))
    there = bench.target.table(TableName("b", "new_t"))
    assert (bench.tables("x"), bench.tables("b"), there.parameters["by"]) == ([], ["new_t"], "b")
    run(bench, drop_database("a"))
    assert (bench.target.database("x"), bench.parked()) == (None, [])
    bench.close()


def test_a_drop_of_a_database_spares_tables_whose_policy_suppresses_drops(tmp_path: Path) -> None:
    policies = [{"name": "kept", "include": ["a.keep"], "drops": "suppress"}, {"name": "rest", "include": ["a", "b"]}]
    bench = FaultyDrain(tmp_path, policies=policies)
    run(bench, create_database("a"), create_database("b"), create("a.keep"), create("a.t"), create("b.t"))
    run(bench, drop("a.keep"), drop("a.t"), drop_database("a"), drop_database("b"))
    assert (bench.tables("a"), bench.target.database("b")) == (["keep"], None)
    bench.close()


# --- the settings


def test_what_a_policy_does_not_set_comes_from_the_target() -> None:
    by = dict(of(**TARGET).each_policy())
    assert by["eu"].exclude == by["rest"].exclude == ("*.tmp_*",)
    assert (by["us"].exclude, by["us"].locations, by["us"].parameters) == (("us_test",), {}, {"from": "pysync"})
    assert (by["rest"].policy, by["rest"].include, by["rest"].drops) == ("all", (), "apply")
    plain = of(include=["a"])
    assert plain.each_policy() == (("", plain),)


def test_the_policy_of_the_target_gives_way_to_the_include_of_a_policy() -> None:
    made = of(policy="sales", policies=[{"name": "a", "include": ["x"]}, {"name": "b", "parameters": {"k": "v"}}])
    assert [(it.policy, it.include) for _, it in made.each_policy()] == [(None, ("x",)), ("sales", ())]


@pytest.mark.parametrize(
    ("policies", "reported"),
    [
        ([{"name": "a"}, {"name": "a"}], "two policies have the name 'a'"),
        ([{"include": ["x"]}], "name"),
        ([{"name": "a", "policy": "x", "include": ["y"]}], "policy and include exclude each other"),
        ([{"name": "a", "copy": True}], "copy"),
        ([{"name": "a", "cascade": False}], "cascade"),
        ([{"name": "a", "locations": {"x": "y"}}], "is not a URI"),
        ([{"name": "a", "policies": []}], "policies"),
    ],
)
def test_settings_that_are_wrong_are_refused(policies: Any, reported: str) -> None:
    with pytest.raises(ValidationError, match=reported):
        of(policies=policies)


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ('include = ["a.b.c"]', "targets[0].policies[1].include: target 'dr': cannot read the pattern 'a.b.c'"),
        (
            'databases = { "a_*" = "x_*", "b_*" = "x_*" }',
            "targets[0].policies[1].databases: target 'dr': 'databases a_*",
        ),
        ("copy = true", "targets[0].policies[1].copy: unknown key"),
    ],
)
def test_what_is_wrong_in_a_policy_is_told_with_its_place(tmp_path: Path, line: str, reported: str) -> None:
    file = tmp_path / "pysync.toml"
    head = '[source]\nname = "onprem"\n[queue]\ndirectory = "q"\n[[targets]]\nname = "dr"\nkind = "faulty"\n'
    file.write_text(f'{head}[[targets.policies]]\nname = "a"\n[[targets.policies]]\nname = "b"\n{line}\n')
    with pytest.raises(UsageError) as refused:
        load_config(file)
    assert reported in str(refused.value)


def test_both_ways_there_are_no_policies() -> None:
    values = {"name": "dr", "kind": "hms", "metastore": "thrift://h:1", "both_ways": True}
    with pytest.raises(ValueError, match="both_ways = true does not work with policies"):
        HmsSettings.model_validate({**values, "policies": [{"name": "a"}]})


def test_a_reload_sees_that_a_policy_now_sets_what_it_took_from_the_target(tmp_path: Path) -> None:
    head = f'[source]\nname = "onprem"\n[queue]\ndirectory = "{tmp_path}"\n[[targets]]\nname = "dr"\nkind = "faulty"\n'
    files = []
    for at, more in enumerate(("", "exclude = []\n")):
        files.append(tmp_path / f"{at}.toml")
        files[-1].write_text(f'{head}exclude = ["a"]\n[[targets.policies]]\nname = "p"\n{more}')
    assert list(changed(*map(load_config, files))) == ["targets.dr.policies"]


def test_a_dump_has_what_any_policy_takes(tmp_path: Path) -> None:
    text = '[source]\nname = "onprem"\n[queue]\ndirectory = "q"\n[[targets]]\nname = "dr"\nkind = "faulty"\n'
    file = tmp_path / "pysync.toml"
    file.write_text(
        text + '[[targets.policies]]\nname = "a"\ninclude = ["a"]\n[[targets.policies]]\nname = "b"\npolicy = "b"\n'
    )
    scope = dump_scope(_within(load_config(file), None))
    assert [scope.table(TableName(it, "t")) for it in "abc"] == [True, True, False]


# --- the scope


def test_policies_and_their_order_are_part_of_the_scope() -> None:
    one, other = scope_of(of(**TARGET)), scope_of(of(**{**TARGET, "policies": [US, EU, REST]}))
    assert one != other
    assert json.loads(json.dumps(one)) == one
    assert scope_of(of(**{**TARGET, "policies": [{**EU, "name": "europe"}, US, REST]})) == one, "not their names"
    (words,) = changes(scope_of(of(policies=[{"name": "a", "include": ["x"], "drops": "apply"}])), scope_of(of()))
    assert words == "policies: include x, drops apply → (none)"


def test_an_empty_setting_of_a_policy_is_another_scope_than_none() -> None:
    one, other = ({**TARGET, "policies": [{"name": "a", **more}]} for more in ({}, {"exclude": []}))
    assert scope_of(of(**one)) != scope_of(of(**other))


NAMES = st.sampled_from(["a", "b", "c"])
TABLES = st.builds(TableName, NAMES, NAMES)
PICKS = st.lists(NAMES | st.builds("{}.{}".format, NAMES, NAMES), max_size=2)
POLICIES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "include": PICKS,
            "exclude": PICKS,
            "databases": st.dictionaries(NAMES, NAMES, max_size=2),
            "tables": st.dictionaries(TABLES.map(str), TABLES.map(str), max_size=2),
        },
    ),
    min_size=1,
    max_size=3,
)


@hypothesis_settings(deadline=None)
@given(POLICIES, TABLES)
def test_a_kept_scope_holds_the_name_of_every_table_that_is_taken(policies: list[Any], name: TableName) -> None:
    made = of(policies=[{"name": f"p{at}", **it} for at, it in enumerate(policies)])
    mapping, policy = NameMapping.of(made), Policy.of(made)
    there = mapping.table(name)
    assert mapping.sources_of(there).count(name) == 1
    assert all(mapping.table(it) == there for it in mapping.sources_of(there))
    assert mapping.renames.leads(name.database, there.database)
    extent = Extent.of(json.loads(json.dumps(scope_of(made))))
    assert extent.mapping.table(name) == there
    if policy.takes_table(name):
        assert extent.holds(there)
        assert extent.holds_database(there.database)
        assert policy.takes_database(name.database)


# --- policy test


def test_a_trial_names_the_policy_that_decides() -> None:
    found = tried([of(**TARGET)], ["eu_a.t", "us_a", "hr.t"], Definition("hdfs://eu/t"))
    ((eu,), (us,), (hr,)) = (it["targets"] for it in found)
    assert (eu["policy"], eu["name"], eu["location"]) == ("eu", "europe_a.t", "s3://eu/t")
    assert eu["rename"] == "databases eu_* = europe_*"
    assert (us["policy"], us["name"], us["location"]) == ("us", "america_a", "hdfs://eu/t")
    assert (hr["policy"], hr["taken"]) == (None, False)


def test_a_target_without_policies_is_as_before() -> None:
    plain = Translator.of(of(include=["db"], databases={"db": "x"}))
    assert plain.policy.policies == ()
    assert len(plain.mapping.rewritings) == 1
    assert tried([of(include=["db"])], ["db.t"])[0]["targets"][0]["policy"] is None


@pytest.mark.parametrize(("target", "policy"), [("apply", "trash"), ("suppress", "trash"), ("trash", "apply")])
def test_the_trash_is_for_all_policies_of_a_target_or_for_none(target: str, policy: str) -> None:
    policies = [{"name": "eu", "include": ["eu"], "drops": policy}]
    with pytest.raises(ValidationError, match='drops = "trash" is a setting of the whole target'):
        HmsSettings(name="dr", kind="hms", metastore="thrift://a:9083", drops=target, policies=policies)


def test_a_policy_may_suppress_drops_of_a_target_with_a_trash() -> None:
    policies = [{"name": "eu", "include": ["eu"], "drops": "suppress"}]
    found = HmsSettings(name="dr", kind="hms", metastore="thrift://a:9083", drops="trash", policies=policies)
    assert [(name, it.drops) for name, it in found.each_policy()] == [("eu", "suppress")]
