"""From rules of SSM's hms-sync to a pysync.toml that can be loaded; nothing in a rule is passed over in silence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.setup.rule import Rule, parse_rules
from pysync.setup.rule_config import import_rules
from pysync.setup.rule_text import Text
from tests.support.ssm import FULL, NO_SOURCE, PLAIN, Load, importing


@pytest.fixture
def imported(tmp_path: Path) -> Load:
    return importing(tmp_path)


def rule(text: str) -> Rule:
    (found,) = parse_rules(Text(text))
    return found


def act(options: str) -> Rule:
    return rule(f'hms : name matches "db.*" | hms-sync -dest thrift://dr:9083 {options}')


# --- the examples of SSM's article


def test_the_first_example_of_the_article(imported: Load) -> None:
    found, config = imported(PLAIN)
    (target,) = config.targets
    assert (config.source.name, target.name, target.kind) == ("onprem", "ka-adh-1", "hms")
    assert target.metastore == "thrift://ka-adh-1.ru-central1.internal:9083"
    assert (target.include, target.exclude, target.cascade, target.locations) == (("test_db.*",), (), False, {})
    assert (target.on_conflict, target.drops) == ("park", "apply")
    assert found.warnings == (NO_SOURCE,)


def test_the_second_example_of_the_article(imported: Load) -> None:
    found, config = imported(FULL)
    (target,) = config.targets
    assert (target.name, target.metastore) == ("ka-adh2-3", "thrift://ka-adh2-3.ru-central1.internal:9083")
    assert (target.include, target.cascade) == (("test_db.*",), True)
    assert target.locations == {"hdfs://adh1": "hdfs://adh2"}
    assert found.warnings == (NO_SOURCE,)


def test_the_location_of_the_article_becomes_that_of_the_article(imported: Load) -> None:
    _, config = imported(FULL)
    mapping = NameMapping.of(config.targets[0])
    for path in ("/apps/hive/warehouse/test_db.db/t1", ""):
        assert mapping.rewritings[0].locations.map(f"hdfs://adh1{path}") == f"hdfs://adh2{path}"
    for other in ("hdfs://adh10/a", "hdfs://other/adh1", "s3://adh1/a"):
        assert mapping.rewritings[0].locations.map(other) == other, "only the nameservice is replaced"


def test_all_entities_of_the_database_are_taken_and_nothing_else(imported: Load) -> None:
    """The article: a rule to replicate all entities from the database."""
    _, config = imported(FULL)
    policy = Policy.of(config.targets[0])
    assert policy.takes_database("test_db")
    assert policy.takes_table(TableName("test_db", "t1"))
    assert not policy.takes_database("test_db2")
    assert not policy.takes_table(TableName("other", "t1"))


# --- forms


@pytest.mark.parametrize(
    "text",
    [
        'name matches "db.*" | hms-sync -dest thrift://dr:9083',
        'hms:name matches "db.*"|hms-sync -dest thrift://dr:9083',
        "HMS : NAME MATCHES 'db.*' | HMS-SYNC -dest thrift://dr",
        'hms : name matches "db.*" | hms-sync -dest "thrift://dr:9083/"',
        'hms : name matches "db.*"\n  | hms-sync\n  # its options\n  -dest thrift://dr:9083\n',
        'hms : name matches " db.* "\n| hms-sync -dest thrift://dr:9083 ;',
    ],
)
def test_the_ways_to_write_a_rule(text: str) -> None:
    found = rule(text)
    assert (found.include, found.destination, found.cascade) == (("db.*",), "thrift://dr:9083", False)
    assert (found.warnings, found.rename) == ((), None)


@pytest.mark.parametrize("value", ['"a b"', "'a  b'", "a=b", '"a=b"', "a b"])
def test_the_ways_to_write_two_nameservices(value: str) -> None:
    found = act(f"-nameservice_rename {value} -cascade")
    assert (found.rename, found.cascade) == (("a", "b"), True)


@pytest.mark.parametrize(
    ("conditions", "include", "exclude"),
    [
        ('name matches "*"', ("*",), ()),
        ('name matches "*.*"', ("*.*",), ()),
        ('name matches "sales.ord?rs"', ("sales.ord?rs",), ()),
        ('name == "sales.orders"', ("sales.orders",), ()),
        ('name matches "a.*" or name matches "b.*" OR name == "c.t"', ("a.*", "b.*", "c.t"), ()),
        ('name matches "a.*" and not name matches "a.tmp_*"', ("a.*",), ("a.tmp_*",)),
        ('not name matches "tmp*"', (), ("tmp*",)),
        ('name matches "a.*" or name matches "a.*"', ("a.*",), ()),
    ],
)
def test_conditions_become_include_and_exclude(
    conditions: str, include: tuple[str, ...], exclude: tuple[str, ...]
) -> None:
    found = rule(f"hms : {conditions} | hms-sync -dest thrift://dr:9083")
    assert (found.include, found.exclude, found.warnings) == (include, exclude, ())


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}(\.[a-z0-9_]{0,8}\*)", fullmatch=True)
HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,5})?(\.[a-z]{2,5}){0,2}", fullmatch=True)
LABELS = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
BLANKS = st.sampled_from([" ", "  ", "\t"])


@given(
    st.lists(NAMES, min_size=1, max_size=4, unique=True),
    HOSTS,
    st.booleans(),
    st.none() | st.tuples(LABELS, LABELS),
    st.tuples(BLANKS, st.randoms()),
)
def test_what_is_written_is_read_in_whatever_order(
    names: list[str], host: str, cascade: bool, rename: tuple[str, str] | None, form: tuple[str, Any]
) -> None:
    blank, random = form
    options = [f"-dest thrift://{host}:9083", *(["-cascade"] if cascade else [])]
    options += [f'-nameservice_rename "{rename[0]} {rename[1]}"'] if rename else []
    random.shuffle(options)
    conditions = f"{blank}or{blank}".join(f'name matches "{name}"' for name in names)
    found = rule(f"hms{blank}:{conditions}{blank}|{blank}hms-sync {blank.join(options)}")
    assert (found.include, found.destination) == (tuple(names), f"thrift://{host}:9083")
    assert (found.cascade, found.rename, found.warnings) == (cascade, rename, ())


PIECES = st.sampled_from(
    ["hms", ":", "name", "matches", '"db.*"', '"a"', "|", "hms-sync", "-dest", "thrift://a:1", "-cascade", "and", "or",
     "not", "(", ")", ";", '"', "'", "-nameservice_rename", "a=b", "\n", "#", "-x", "\x1b[31m", "==", "é", "-", "every"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map(" ".join) | st.text(max_size=40))
def test_whatever_is_given_becomes_a_configuration_or_a_place_with_a_hint(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    refused: UsageError | None = None
    try:
        found = import_rules(Text(text), "onprem")
    except UsageError as error:
        refused = error
    if refused is not None:
        assert re.match(r"line \d+, column \d+: \S", refused.message)
        assert refused.hint
        line, column = map(int, re.findall(r"\d+", refused.message)[:2])
        lines = text.split("\n")
        assert line <= len(lines)
        assert column <= len(lines[line - 1]) + 1
    else:
        conf = tmp_path_factory.mktemp("x") / "pysync.toml"
        conf.write_text(found.text, encoding="utf-8")
        assert load_config(conf).targets
        assert "\x1b" not in found.text


# --- what has no counterpart


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            'hms : every 5s | name matches "db.*" | hms-sync -dest thrift://dr',
            "the trigger every 5s is NOT taken over: pysync applies each change as it comes.",
        ),
        (
            'hms : name matches "db.*" and owner == "ann" | hms-sync -dest thrift://dr',
            'the condition owner == "ann" is NOT taken over: names alone decide what the target takes, so it may take '
            "more.",
        ),
        (
            'hms : name matches "db.*" | hms-sync -dest thrift://dr -threads 4',
            "the option -threads 4 is NOT taken over: pysync does not know it.",
        ),
        (
            'hms : name matches "db.*" | hms-sync -dest thrift://dr ; sync -dest "hdfs://adh2/apps"',
            'the action sync -dest "hdfs://adh2/apps" is NOT taken over: pysync does what hms-sync does.',
        ),
        (
            'hms : name matches "db" | hms-sync -dest thrift://dr',
            "db has no dot: pysync takes databases of that name with everything in them, SSM only objects whose whole "
            "name is this.",
        ),
        (
            'hms : name matches "db.*" | hms-sync -dest thrift://dr -exclude ALTER',
            'the option -exclude ALTER is NOT taken over: if it leaves DROP out, the target gets drops = "suppress"; '
            "for other kinds set exclude_kinds.",
        ),
    ],
)
def test_what_has_no_counterpart_is_a_warning(imported: Load, text: str, warning: str) -> None:
    found, config = imported(text)
    assert found.warnings == (warning, NO_SOURCE)
    assert f"# - WARNING: {warning}\n" in found.text
    assert config.targets[0].drops == "apply"


@pytest.mark.parametrize(
    ("options", "drops"),
    [
        ("-exclude DROP", "suppress"),
        ('-exclude "alter, drop"', "suppress"),
        ("-include CREATE,ALTER", "suppress"),
        ("-include CREATE,DROP", "apply"),
        ("-include CREATE,DROP -exclude DROP", "suppress"),
        ("-exclude ALTER", "apply"),
    ],
)
def test_no_import_switches_drops_on(imported: Load, options: str, drops: str) -> None:
    _, config = imported(f'hms : name matches "db.*" | hms-sync -dest thrift://dr {options}')
    assert config.targets[0].drops == drops


# --- what cannot be read

DEST = "| hms-sync -dest thrift://dr:9083"


@pytest.mark.parametrize(
    ("text", "place", "what", "hint"),
    [
        ("", "1, column 1", "there is no rule", "write hms : name"),
        ("# only a comment\n\n", "1, column 1", "there is no rule", "write hms : name"),
        (f'file : path matches "/a" {DEST}', "1, column 1", "a rule of 'file' does not replicate", "only rules"),
        (f'hms with length > 1 : name matches "a.*" {DEST}', "1, column 5", "a filter after hms", "conditions"),
        ('hms : name matches "a.*"', "1, column 25", "the rule has no action", "hms-sync -dest"),
        (f'hms : a | b | name matches "a.*" {DEST}', "1, column 36", "more than three parts", "write hms"),
        (f'hms : nmae matches "a.*" {DEST}', "1, column 7", "'nmae' is not understood here", "name matches"),
        (f'hms : name match "a.*" {DEST}', "1, column 12", "'match' is not understood here", "name matches"),
        (f"hms : name matches a.* {DEST}", "1, column 20", "'a.*' is not understood here", "name matches"),
        (f"hms : name matches {DEST}", "1, column 12", "the condition is not complete", "name matches"),
        (f'hms : name matches "a.*" "b.*" {DEST}', "1, column 26", "'b.*' is not understood here", "name matches"),
        (f"hms : {DEST}", "1, column 9", "a condition is missing", "name matches"),
        (f'hms : name matches "a.*" or {DEST}', "1, column 31", "a condition is missing", "name matches"),
        (f"hms : owner == ann {DEST}", "1, column 7", "the rule has no condition on the name", "name matches"),
        (f'hms : name matches "a.*" or owner == "b" {DEST}', "1, column 29", "'owner' is not", "name matches"),
        (f'hms : (name matches "a.*") {DEST}', "1, column 7", "'(' is not understood here", "without parentheses"),
        (
            f'hms : name matches "a.*" and name matches "b.*" {DEST}',
            "1, column 30", "include and exclude of pysync.toml cannot say this", "join names with or",
        ),
        (
            f'hms : name matches "a.*" or not name matches "b.*" {DEST}',
            "1, column 29", "include and exclude of pysync.toml cannot say this", "join names with or",
        ),
        (
            f'hms : name matches "a.*" or name matches "b.*" and not name matches "c.*" {DEST}',
            "1, column 48", "and together with or cannot be read", "a rule for each",
        ),
        (f'hms : name matches "db.(a|b)" {DEST}', "1, column 24", "cannot be a pattern of include", "letters, digits"),
        (f'hms : name == "db.*" {DEST}', "1, column 16", "cannot be a pattern of include", "letters, digits"),
        (f'hms : name matches "a.b.c" {DEST}', "1, column 21", "'a.b.c' is neither db nor db.table", "wildcards"),
        (f'hms : name matches "" {DEST}', "1, column 21", "'' is neither db nor db.table", "wildcards"),
        (f'hms : name matches "a.* {DEST}', "1, column 20", "the quote does not end", "in quotes"),
        ('hms : name matches "a.*" | sync -dest /b', "1, column 28", "'sync' is not hms-sync", "write hms"),
        ('hms : name matches "a.*" |', "1, column 27", "the rule has no action", "hms-sync"),
        ('hms : name matches "a.*" | hms-sync', "1, column 36", "hms-sync has no -dest", "write -dest thrift"),
        ('hms : name matches "a.*" | hms-sync -dest', "1, column 37", "-dest has no value", "write -dest thrift"),
        ('hms : name matches "a.*" | hms-sync -dest dr:9083', "1, column 43", "is not", "thrift://"),
        (f'hms : name matches "a.*" {DEST} other', "1, column 60", "'other' is not understood here", "-dest thrift"),
        (f'hms : name matches "a.*" {DEST} -cascade true', "1, column 69", "'true' is not", "leave the word out"),
        (f'hms : name matches "a.*" {DEST} -cascade -cascade', "1, column 69", "-cascade is given twice", "once"),
        (f'hms : name matches "a.*" {DEST} -nameservice_rename', "1, column 60", "has no value", '"old new"'),
        (f'hms : name matches "a.*" {DEST} -nameservice_rename a', "1, column 80", "two nameservices", '"old new"'),
        (f'hms : name matches "a.*" {DEST} -nameservice_rename "a/x b"', "1, column 80", "two names", '"old new"'),
        (f'hms : name matches "a.*" {DEST} -nameservice_rename a b c', "1, column 84", "'c' is not", '"old new"'),
        (f'hms : name matches "a.*" {DEST} ; hms-sync -dest thrift://b', "1, column 62", "a second hms-sync", "each"),
        (f'hms : name matches "a.*" | hms-sync x {DEST[11:]}', "1, column 37", "'x' is not understood", "write hms"),
        (f'{PLAIN}\n# next\n  hms : name match "b.*"\n', "3, column 3", "'hms' is not understood here", "-dest thrift"),
        (f'{PLAIN}\n\nhms : name match "b.*" {DEST}', "3, column 12", "'match' is not understood here", "name matches"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_place(text: str, place: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        import_rules(Text(text), "onprem")
    assert refused.value.message.startswith(f"line {place}: ")
    assert what in refused.value.message
    assert hint in (refused.value.hint or "")
