"""The text of REPL commands: every form of Hive's page is read, and what is none is told in one line with its place."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pysync.base.errors import UsageError
from pysync.replay.window.name_expression import NameExpression
from pysync.replay.window.repl_policy import ReplPolicy, parse_policy
from pysync.replay.window.repl_statement import ReplDump, ReplLoad, ReplStatus, parse_statement, quoted_string


def dump(policy: str, **values: Any) -> ReplDump:
    none = {"replaces": None, "since": None, "to": None, "limit": None, "settings": {}}
    return ReplDump(policy, **{**none, **values})


WITH = {"hive.repl.include.external.tables": "false", "hive.repl.dump.metadata.only": "true"}
PAGE = [
    ("REPL DUMP sales;", dump("sales")),
    ("REPL DUMP sales.Q3;", dump("sales.q3")),
    ("REPL DUMP sales.['T3', '[a-z]+'];", dump("sales.['T3', '[a-z]+']")),
    ("REPL DUMP sales.['.*?'].['T[0-9]+', 'Q4'];", dump("sales.['.*?'].['T[0-9]+', 'Q4']")),
    ("REPL DUMP sales.[];", dump("sales.[]")),
    ("REPL DUMP sales FROM 200 TO 1400;", dump("sales", since=200, to=1400)),
    ("REPL DUMP sales FROM 200;", dump("sales", since=200)),
    ("REPL DUMP sales FROM 200 to 1400 LIMIT 100;", dump("sales", since=200, to=1400, limit=100)),
    ("REPL DUMP sales FROM 200 LIMIT 100;", dump("sales", since=200, limit=100)),
    ("REPL DUMP sales.['[a-z]+'] REPLACE sales FROM 200;", dump("sales.['[a-z]+']", replaces="sales", since=200)),
    (
        "REPL DUMP sales.['[a-z]+', 'Q5'] REPLACE sales.['[a-z]+'] FROM 500;",
        dump("sales.['[a-z]+', 'Q5']", replaces="sales.['[a-z]+']", since=500),
    ),
    (
        "REPL DUMP sales WITH ('hive.repl.include.external.tables'='false', 'hive.repl.dump.metadata.only'='true');",
        dump("sales", settings=WITH),
    ),
    (
        "REPL DUMP sales.['[a-z]+'] REPLACE sales FROM 200 TO 1400 LIMIT 100 WITH "
        "('hive.repl.include.external.tables'='false', 'hive.repl.dump.metadata.only'='true')",
        dump("sales.['[a-z]+']", replaces="sales", since=200, to=1400, limit=100, settings=WITH),
    ),
    ("REPL LOAD sales FROM '/repl/1';", ReplLoad("sales", None, "/repl/1", {})),
    ("REPL LOAD sales.orders FROM '/repl/1';", ReplLoad("sales", "orders", "/repl/1", {})),
    ("REPL LOAD FROM '/repl/1';", ReplLoad(None, None, "/repl/1", {})),
    (
        "REPL LOAD sales FROM '/repl/1' WITH ('key1'='value1', 'key2'='value2');",
        ReplLoad("sales", None, "/repl/1", {"key1": "value1", "key2": "value2"}),
    ),
    ("REPL STATUS sales;", ReplStatus("sales", None, {})),
    ("REPL STATUS sales.orders;", ReplStatus("sales", "orders", {})),
]


@pytest.mark.parametrize(("text", "meant"), PAGE)
def test_every_example_of_hive_s_page_is_read(text: str, meant: Any) -> None:
    assert parse_statement(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("  repl\n dump  Sales . [ 'a' ,\t\"b\" ] ;  ", dump("sales.['a', 'b']")),
        ("REPL DUMP sales.'t3|[a-z]+'.'q4'", dump("sales.['t3|[a-z]+'].['q4']")),
        ("REPL DUMP `sales`.`orders` FROM 1", dump("sales.orders", since=1)),
        ("REPL DUMP `from` FROM 1", dump("from", since=1)),
        ("REPL DUMP s*.t? FROM 0", dump("s*.t?", since=0)),
        ("REPL DUMP sales.['it''']".replace("''", '"'), dump("sales.['it\"']")),
        (r"REPL DUMP sales.['it\'s']", dump('sales.["it\'s"]')),
        (r"REPL DUMP sales.['t\\d+', 'u\d']", dump(r"sales.['t\d+', 'u\d']")),
        ("REPL LOAD sales FROM /repl/a.b-1;", ReplLoad("sales", None, "/repl/a.b-1", {})),
        ("repl load x from file:///repl/1 with ('a'='')", ReplLoad("x", None, "file:///repl/1", {"a": ""})),
        ("REPL STATUS sales WITH ('hive.metastore.uris'='x')", ReplStatus("sales", None, {"hive.metastore.uris": "x"})),
    ],
)
def test_other_forms_of_the_same_are_read(text: str, meant: Any) -> None:
    assert parse_statement(text) == meant


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "column 1: expected REPL, found the end"),
        ("SHOW TABLES", "column 1: expected REPL, found 'SHOW'"),
        ("REPL", "column 5: expected DUMP, LOAD or STATUS, found the end"),
        ("REPL DROP sales", "column 6: expected DUMP, LOAD or STATUS, found 'DROP'"),
        ("REPL DUMP", "column 10: expected a database, found the end"),
        ("REPL DUMP sales FRM 3", "column 17: expected '.', REPLACE, FROM, WITH, ';' or the end, found 'FRM'"),
        # The page's own text, in which two versions of the example have run into each other.
        ("REPL DUMP sales.Q3['T3', '[a-z]+'];", "column 19: expected REPLACE, FROM, WITH, ';' or the end"),
        ("REPL DUMP sales LIMIT 3", "column 17: expected '.', REPLACE, FROM"),
        ("REPL DUMP sales FROM", "column 21: expected a whole number, found the end"),
        ("REPL DUMP sales FROM -1", "column 22: expected a whole number, found '-1'"),
        ("REPL DUMP sales FROM 1_0", "column 22: expected a whole number"),
        ("REPL DUMP sales FROM 9999999999999999999", "column 22: the number is too large"),
        ("REPL DUMP sales FROM 5 TO 3", "column 27: TO 3 is before FROM 5"),
        ("REPL DUMP sales FROM 5 LIMIT 0", "column 30: LIMIT must be at least 1"),
        ("REPL DUMP sales.['a' 'b']", "column 22: expected ',' or ']', found \"'b']\""),
        ("REPL DUMP sales.['a", "column 18: the string has no closing quote"),
        ("REPL DUMP sales.['(']", "column 18: '(' is not a regular expression"),
        ("REPL DUMP sales.['a{99999999999}']", "column 18: 'a{99999999999}' is not a regular expression"),
        (
            "REPL DUMP sales.['[[a]x]']",
            "column 18: '[[a]x]' is not a regular expression: sets within sets, and &&, are",
        ),
        ("REPL DUMP sales.['[a-z&&[^x]]']", "column 18: '[a-z&&[^x]]' is not a regular expression: sets within sets"),
        ('REPL DUMP sales.["a\\"\'"]', "column 18: an expression cannot have both kinds of quotes"),
        ("REPL DUMP `a b`", "column 11: 'a b' cannot be a name"),
        ("REPL DUMP crm REPLACE sales FROM 3", "column 23: a policy can only replace one of the same database"),
        ("REPL DUMP sales WITH ()", "column 23: expected a key in quotes, found ')'"),
        ("REPL DUMP sales WITH ('a' 'b')", "column 27: expected '=', found \"'b')\""),
        ("REPL DUMP sales WITH ('a'='b',\n 'a'='c')", "line 2, column 2: the key 'a' comes twice"),
        ("REPL DUMP sales; REPL DUMP crm", "column 18: expected the end, found 'REPL'"),
        ("REPL LOAD sales", "column 16: expected '.' or FROM, found the end"),
        ("REPL LOAD sales INTO crm", "column 17: expected '.' or FROM, found 'INTO'"),
        ("REPL LOAD sales FROM ;", "column 22: expected a directory, found ';'"),
        ("REPL STATUS sales.['a']", "column 19: expected a table, found \"['a']\""),
    ],
)
def test_what_is_no_command_is_told_with_its_place(text: str, reported: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_statement(text)
    assert str(refused.value).startswith(f"cannot read the REPL command: {reported}"), str(refused.value)


strings = some.text(max_size=12)
keys = some.dictionaries(strings, strings, min_size=1, max_size=3)


@given(keys, some.sampled_from(["", " ", "\n\t"]))
def test_whatever_stands_in_quotes_comes_back(settings: dict[str, str], space: str) -> None:
    pairs = f"{space},{space}".join(
        f"{quoted_string(key)}{space}={space}{quoted_string(it)}" for key, it in settings.items()
    )
    text = f"REPL LOAD FROM {quoted_string('/a')} WITH{space}({space}{pairs}{space}){space};"
    assert parse_statement(text) == ReplLoad(None, None, "/a", settings)


@given(some.text("ab'\"\\.*[] é;", min_size=1))
def test_a_directory_in_quotes_comes_back(directory: str) -> None:
    found = parse_statement(f"repl load from {quoted_string(directory)}")
    assert isinstance(found, ReplLoad)
    assert found.directory == directory


def _compiles(text: str) -> bool:
    with suppress(UsageError):
        return NameExpression(text) is not None
    return False


names = some.text("ab_1", min_size=1, max_size=4)
expressions = some.lists(some.text("ab.*]|\\d é", min_size=1, max_size=6).filter(_compiles), max_size=3)


@given(names, expressions, expressions)
def test_a_policy_is_given_on_as_the_one_that_was_meant(database: str, include: list[str], exclude: list[str]) -> None:
    """What is made of it is in the form that targets and dumps read."""
    lists = [", ".join(map(quoted_string, its)) for its in (include, exclude)]
    found = parse_statement(f"REPL DUMP {database}.[{lists[0]}].[{lists[1]}]")
    assert isinstance(found, ReplDump)
    assert parse_policy(found.policy) == ReplPolicy(database, None, tuple(include), tuple(exclude))
    assert parse_statement(f"REPL DUMP {database} REPLACE {database}").replaces == database


WORDS = [
    "REPL",
    "DUMP",
    "LOAD",
    "STATUS",
    "REPLACE",
    "FROM",
    "TO",
    "LIMIT",
    "WITH",
    "db",
    ".",
    "[",
    "]",
    "'a'",
    "'",
    '"',
]
WORDS += ["(", ")", "=", ",", ";", "12", "`", "\\", "\n", "\0", "/x"]


@given(some.lists(some.sampled_from(WORDS) | some.text(max_size=3), max_size=12).map(" ".join))
def test_garbage_is_refused_in_one_line_or_read(text: str) -> None:
    refused = ""
    try:
        found: Any = parse_statement(f"REPL {text}")
    except UsageError as error:
        found, refused = None, str(error)
    if found is None:
        assert re.match(r"cannot read the REPL command: (line \d+, )?column \d+: ", refused)
        assert len(refused.splitlines()) == 1
    else:
        assert isinstance(found, ReplDump | ReplLoad | ReplStatus)
