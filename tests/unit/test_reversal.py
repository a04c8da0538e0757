"""The configuration of the way back, after a target was promoted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.config import read_config
from pysync.config_file.edits import read
from pysync.config_file.reversal import reversed_configuration
from pysync.model.names import TableName
from pysync.replay.window.policy import Policy
from pysync.targets.hms import HmsSettings

SOURCE = {"name": "onprem", "metastore": "thrift://a:9083"}
TARGET = {"name": "dr", "kind": "hms", "metastore": "thrift://b:9083"}

NAMES = st.from_regex(r"[a-z]{1,6}", fullmatch=True)


def entries(sides=NAMES):
    return st.dictionaries(sides, sides, max_size=4).filter(lambda it: len(set(it.values())) == len(it))


TARGETS = st.fixed_dictionaries(
    {
        "databases": entries(),
        "locations": entries(NAMES.map("hdfs://{}/warehouse".format)),
        "include": st.lists(st.builds("{}.{}".format, NAMES, st.sampled_from(["*", "t?", "orders"])), min_size=1),
    },
    optional={"drops": st.sampled_from(["apply", "suppress"]), "lanes": st.integers(1, 64), "copy": st.just(True)},
).map(lambda it: {key: value for key, value in it.items() if value != {}})


def reverse(source, target):
    document = read(reversed_configuration(source, target))
    return document["source"], document["targets"][0]


@given(TARGETS)
def test_reversed_twice_it_is_what_it_was(settings):
    target = {**TARGET, **settings}
    # A name that another one takes is not told from that one on the way back.
    renamed = set(target.get("databases", {}))
    target["include"] = [it for it in target["include"] if it.partition(".")[0] in renamed] or ["*"]
    assert reverse(*reverse(SOURCE, target)) == (SOURCE, target)


def test_catalogs_change_sides_too():
    named = {"catalogs": ["dr"], "include": ["*", "@spark#sales"], "databases": {"@spark#sales": "@dr#sales"}}
    there, back = reverse(SOURCE, {**TARGET, **named})
    assert (back["catalogs"], back["include"]) == (["spark"], ["*", "@dr#sales"])
    assert back["databases"] == {"@dr#sales": "@spark#sales"}
    assert reverse(there, back) == (SOURCE, {**TARGET, **named})


def test_it_is_a_configuration_from_the_targets_metastore_to_the_sources():
    source = {**SOURCE, "capture": "notification-log", "poll_seconds": 3.0, "kerberos": {"principal": "p@A"}}
    renames = {"databases": {"sales": "dr_sales"}, "include": ["sales.*", "crm"], "exclude": ["sales.tmp?"]}
    target = {**TARGET, **renames, "cluster": "standby", "enabled": False, "out_of_scope": "drop", "window": 7}
    text = reversed_configuration({it: source[it] for it in ("name", "metastore", "capture")}, target)
    config = read_config(text, Path("back.toml"))
    (back,) = config.targets
    assert (config.source.name, config.source.metastore, config.source.capture) == (
        "standby",
        "thrift://b:9083",
        "notification-log",
    )
    assert (back.name, back.metastore, back.enabled, back.window) == ("onprem", "thrift://a:9083", True, 7)
    assert (back.databases, back.include, back.exclude) == (
        {"dr_sales": "sales"},
        ("dr_sales.*", "crm"),
        ("dr_sales.tmp?",),
    )
    assert "kerberos" in reverse(source, target)[1]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"policies": [{"name": "a"}]}, "policies"),
        ({"parameters": {"a": "b"}}, "parameters"),
        ({"include_schemes": ["hdfs"]}, "include_schemes"),
        ({"copy": {"rewrite": True}}, "copy.rewrite"),
        ({"databases": {"a": "c", "b": "c"}}, "databases brings two names to one"),
        ({"databases": {"a": "b"}, "policy": "a"}, "policy together with renames"),
        ({"tables": {"a.t": "b.t"}, "include": ["a.t"]}, "include together with renames"),
        ({"databases": {"a": "b"}, "include": ["a*.t"]}, "'a*.t' together with renames"),
        ({"databases": {"a_*": "b_*"}, "exclude": ["a_x"]}, "'a_x' together with renames"),
    ],
)
def test_what_has_no_reverse_is_named(settings, word):
    with pytest.raises(UsageError, match="has no reverse") as refused:
        reversed_configuration(SOURCE, {**TARGET, **settings})
    assert word in str(refused.value)
    assert "docs/operating.md" in str(refused.value.hint)


def test_neither_way_takes_the_trash_of_the_other_side():
    there, back = reverse(SOURCE, {**TARGET, "drops": "trash", "trash_database": "bin"})
    policy = Policy.of(HmsSettings.model_validate(back))
    assert (policy.takes("bin"), policy.takes(TableName("bin", "t1"))) == (False, False)
    again = reverse(there, back)[1]
    assert Policy.of(HmsSettings.model_validate(again)).takes("bin") is False
