"""Edits of the targets in a pysync.toml: only the lines of what changes, whatever the layout of the rest."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.base.text import toml_string
from pysync.base.toml_places import name_parts
from pysync.config_file import edits
from pysync.config_file.edits import with_key, with_table, without_key, without_table
from pysync.config_file.statements import statements
from pysync.config_file.targets import added, altered, enabled, key_of, removed, renamed, setting_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = '''# top [[targets]]
[source]
name = "a"  # c

[[targets]]   # first
name = "one"
kind = "hms"
note = """
[[targets]]
name = "no key"
"""
# end of one

# for the log
[log]
level = "info"

[[ "targets" ]]
# comment in two
  name = "two"
  kind = 'hms'
  include = [
    "a",  # with = and ]
    "b",
  ]
  databases = { a = "b", 'x.y' = "z" } # renames
  copy.parallelism = 3
[targets.tls]
ca_file = "x"  # m

# about the web
[web]
port = 0
'''


def lines_changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that are gone, and those that came."""
    old, new = before.splitlines(), after.splitlines()
    return [it for it in old if it not in new], [it for it in new if it not in old]


@pytest.mark.parametrize(
    ("key", "value", "gone", "came"),
    [
        ("enabled", False, [], ["  enabled = false"]),
        ("kind", "glue", ["  kind = 'hms'"], ['  kind = "glue"']),
        ("include", ["c"], ["  include = [", '    "a",  # with = and ]', '    "b",', "  ]"], ['  include = ["c"]']),
        ("copy.rewrite", "orc", [], ['  copy.rewrite = "orc"']),
        ("copy", True, ["  copy.parallelism = 3"], ["  copy = true"]),
        ("tls.key_file", "y", [], ['key_file = "y"']),
        (
            "databases.q",
            "r",
            ['  databases = { a = "b", \'x.y\' = "z" } # renames'],
            ['  databases = { a = "b", "x.y" = "z", q = "r" } # renames'],
        ),
        ('tables."db.t"', "db.u", [], ['  tables."db.t" = "db.u"']),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_key_is_set_and_all_else_stays(key: str, value: Any, gone: list[str], came: list[str], end: str) -> None:
    text = TEXT.replace("\n", end)
    found = with_key(text, 1, name_parts(key), value)
    assert lines_changed(text, found) == (gone, came)
    assert found.count(end) == found.count("\n"), "no other line ends"


@pytest.mark.parametrize("key", ["include", "databases", "databases.a", "copy", "tls", "tls.ca_file", "kind"])
def test_what_is_unset_is_gone_and_can_be_set_again(key: str) -> None:
    found = without_key(TEXT, 1, name_parts(key))
    table: Any = tomllib.loads(found)["targets"][1]
    for part in name_parts(key)[:-1]:
        table = table[part]
    assert name_parts(key)[-1] not in table
    assert without_key(found, 1, name_parts(key)) == found
    assert with_key(found, 1, name_parts(key), "x") != found


def test_a_removed_target_takes_its_own_comments_and_no_others() -> None:
    first, second = without_table(TEXT, 0), without_table(TEXT, 1)
    assert "# end of one" not in first
    assert [it for it in ("# top", "# for the log", "# comment in two") if it not in first] == []
    assert lines_changed(TEXT, second)[1] == []
    assert "# about the web" in second
    above_next = '[[targets]]\nname = "a"\n# the second\n[[targets]]\nname = "b"\n'
    assert without_table(above_next, 0) == '# the second\n[[targets]]\nname = "b"\n'
    parted = '[[targets]]\nname = "a"\n[log]\nx = 1\n[targets.tls]\ny = 2\n[[targets]]\nname = "b"\n'
    assert without_table(parted, 0) == '[log]\nx = 1\n[[targets]]\nname = "b"\n'


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip()])
def test_what_is_added_and_removed_leaves_the_file_as_it_was(text: str) -> None:
    found = with_table(text, {"name": "three", "kind": "glue", "locations": {"hdfs://a": "s3://b"}})
    assert found.startswith(text)
    assert without_table(found, 2).rstrip() == text.rstrip()


def test_targets_in_one_value_are_left_to_a_person() -> None:
    inline = 'targets = [{ name = "one", kind = "hms" }]\n[log]\nlevel = "info"\n'
    for edit in (
        lambda: with_key(inline, 0, ("lanes",), 2),
        lambda: with_table(inline, {"name": "b"}),
        lambda: without_key(inline, 0, ("kind",)),
    ):
        with pytest.raises(UsageError, match="cannot be edited by a command"):
            edit()


def test_a_key_below_what_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match="kind is not a table"):
        with_key(TEXT, 1, ("kind", "x"), 1)
    array = '[[targets]]\nname = "a"\n[[targets.faults]]\nkind = "bug"\n[[targets.faults]]\nkind = "hang"\n'
    with pytest.raises(UsageError, match="faults is not a table"):
        with_key(array, 0, ("faults", "kind"), "x")
    assert with_key(array, 0, ("faults",), []) == '[[targets]]\nname = "a"\nfaults = []\n'


def test_the_last_target_stays() -> None:
    with pytest.raises(UsageError, match="at least one target"):
        without_table('[[targets]]\nname = "a"\n', 0)


def test_a_wrong_edit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "rendered", lambda _: "7")
    with pytest.raises(UsageError, match="something else"):
        with_key(TEXT, 1, ("lanes",), 2)
    monkeypatch.setattr(edits, "rendered", lambda _: "[")
    with pytest.raises(UsageError, match="no TOML"):
        with_key(TEXT, 1, ("lanes",), 2)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8)
BARE = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)
KEYS = st.lists(st.one_of(BARE, WORDS), min_size=1, max_size=3).map(tuple)
VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), WORDS),
    lambda it: st.one_of(st.lists(it, max_size=3), st.dictionaries(WORDS, it, max_size=3)),
    max_leaves=5,
)
COMMENTS = st.sampled_from(["", "\n", "# [[targets]]\n", "  # x = 1\n", "\n\n"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A pysync.toml with up to three targets among other tables, comments and odd keys."""
    text = draw(COMMENTS)
    for number in range(draw(st.integers(1, 3))):
        text += f'[[targets]]\nname = "t{number}"\n'
        for key, value in draw(st.dictionaries(BARE.filter(lambda it: it != "name"), VALUES, max_size=3)).items():
            text += (
                draw(st.sampled_from(["", " ", "\t"]))
                + f"{key} = {edits.rendered(value)}"
                + draw(st.sampled_from(["\n", " # c\n", "\n\n"]))
            )
        text += draw(COMMENTS)
        if draw(st.booleans()):
            text += f"[other{number}.{toml_string(draw(WORDS))}]\nv = {edits.rendered(draw(VALUES))}\n" + draw(COMMENTS)
    return text


@given(files(), st.integers(0, 2), KEYS, VALUES)
def test_an_edit_says_what_was_wanted_or_is_refused(text: str, at: int, key: tuple[str, ...], value: Any) -> None:
    before = tomllib.loads(text)
    number = at % len(before["targets"])
    try:
        found = with_key(text, number, key, value)
    except UsageError:
        return
    after = tomllib.loads(found)
    table = after["targets"][number]
    for part in key[:-1]:
        table = table[part]
    assert table[key[-1]] == value
    del before["targets"][number], after["targets"][number]
    assert before == after
    for line in re.findall(r"^ *# .*", text, re.MULTILINE):
        assert line in found


@given(files(), st.integers(0, 2))
def test_a_target_goes_and_the_others_stay(text: str, at: int) -> None:
    before = tomllib.loads(text)
    number = at % len(before["targets"])
    if len(before["targets"]) > 1:
        del before["targets"][number]
        assert tomllib.loads(without_table(text, number)) == before


@given(files())
def test_the_statements_are_all_of_the_text_that_is_no_comment(text: str) -> None:
    left, at = "", 0
    for it in statements(text):
        left += text[at : it.start]
        at = it.end
    left += text[at:]
    assert [line for line in left.splitlines() if line.strip() and not line.lstrip().startswith("#")] == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("lanes=4", ("lanes",), 4),
        ("enabled=false", ("enabled",), False),
        ('include=["a", "b"]', ("include",), ["a", "b"]),
        ("policy=sales.['.*'].['t=1']", ("policy",), "sales.['.*'].['t=1']"),
        ("metastore=thrift://dr:9083", ("metastore",), "thrift://dr:9083"),
        ('max_drops="0"', ("max_drops",), "0"),
        ('locations."hdfs://a=b"=hdfs://c', ("locations", "hdfs://a=b"), "hdfs://c"),
        ("copy.rewrite = orc", ("copy", "rewrite"), "orc"),
        ("name2=1\nother = 2", ("name2",), "1\nother = 2"),
        ("policy=", ("policy",), ""),
    ],
)
def test_settings_are_read_as_people_write_them(text: str, key: tuple[str, ...], value: Any) -> None:
    assert setting_of(text) == (key, value)


@pytest.mark.parametrize(
    "text",
    [
        "spark.password=hunter2",
        'spark."spark.hadoop.fs.azure.account.key.host"=hunter2',
        'spark={ "spark.ssl.keyPassword" = "hunter2" }',
        "secret=hunter2",
    ],
)
def test_a_secret_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UsageError, match="looks like a secret") as refused:
        setting_of(text)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("text", ["lanes", "=1", "a b=1", "hdfs://x=1", ""])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        setting_of(text)


def test_the_name_is_changed_by_rename_alone() -> None:
    with pytest.raises(UsageError, match="another command"):
        key_of("name")
    with pytest.raises(UsageError, match="it is another target"):
        key_of('"kind"')


def test_changes_are_made_once_whatever_how_often() -> None:
    text = '[[targets]]\nname = "a"\nkind = "hms"\nboth_ways = true\n'
    once = renamed("a", "b")(text)
    assert once == '[[targets]]\nname = "b"\nkind = "hms"\nboth_ways = true\ncluster = "a"\n'
    assert renamed("a", "b")(once) == removed("a")(once) == enabled("b")(once) == once
    more = added("c", "faulty", [setting_of("lanes=2")])(once)
    assert added("c", "faulty", [setting_of("lanes=2")])(more) == more
    off = altered("c", [setting_of("enabled=false")])(more)
    assert altered("c", [setting_of("enabled=false")])(off) == off
    assert enabled("c")(off) == off.replace("enabled = false", "enabled = true")
    with pytest.raises(UsageError, match="already"):
        added("c", "faulty", [])(more)
    with pytest.raises(UsageError, match="already"):
        renamed("b", "c")(more)
    with pytest.raises(UsageError, match="did you mean b"):
        altered("bb", [])(more)
