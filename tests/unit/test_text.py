"""Text from outside is text: no markup, no escape sequence, no line of its own."""

from __future__ import annotations

import ast
import json
import unicodedata
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

import pysync.cli
from pysync.base import logs
from pysync.base.errors import PysyncError
from pysync.base.text import LONGEST, error_text, meant, nearest, one_line, plain, quoted, shortened
from pysync.cli.output import echo, print_table, progress
from pysync.model.names import TableName
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.store import RefusedPartition, refused_as_one

ESCAPE = "\x1b[31m\x1b]0;title\x07"
_INVISIBLE_RANGES = (
    *((it, it) for it in (0xAD, 0x34F, 0x61C, 0x3164, 0xFEFF, 0xFFA0)),
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
    *((0xFE00, 0xFE0F), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
INVISIBLE = "".join(chr(it) for first, last in _INVISIBLE_RANGES for it in range(first, last + 1))
ODD = ("[/x]", "types [c1:int]", "[red]", "[link=http://x]y[/link]", "\\[", ":smiley:")


@given(st.text())
def test_no_character_that_steers_a_terminal_is_left(text: str) -> None:
    left = [it for it in plain(text) if it not in "\t\n"]
    assert not {unicodedata.category(it) for it in left} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(it) for it in left} & {"RLO", "LRO", "RLE", "LRE", "RLI", "LRI", "FSI"}


@given(st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=INVISIBLE)))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert plain(f"a\tb\n{text}") == f"a\tb\n{text}"


@pytest.mark.usefixtures("logging_restored")
def test_names_that_differ_by_what_nobody_sees_differ_where_they_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["orders", *(f"or{it}ders" for it in INVISIBLE[::7])]
    for name in names:
        echo(name)
    logs.configure("info", "console")
    structlog.get_logger().info("event_parked", names=names, name=names[1])
    shown = capsys.readouterr()
    assert not {*shown.out, *shown.err} & set(INVISIBLE)
    assert len(set(shown.out.splitlines())) == len(names)


@given(st.text(max_size=30), st.integers(1, 30))
def test_a_text_that_is_too_long_loses_its_end(text: str, longest: int) -> None:
    found = shortened(text, longest)
    assert len(found) <= longest
    assert found == text or text.startswith(found.removesuffix("…"))


@pytest.mark.parametrize("kind", [Rejected, Unavailable])
def test_the_refusal_of_many_partitions_is_no_longer_than_that_of_one(kind: type[PysyncError]) -> None:
    refused = [RefusedPartition((day,), kind("x" * LONGEST, "a hint")) for day in "1234"]
    found = refused_as_one(TableName("db", "t"), refused)
    assert isinstance(found, kind)
    assert found.message.startswith("4 partitions of db.t failed: xxx")
    assert len(found.message) == LONGEST


@pytest.mark.parametrize("text", ODD)
def test_a_table_shows_brackets_and_colons_as_they_are(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(text, ("the name of a constraint",), [(text,)])
    assert capsys.readouterr().out.count(text) == 2


def test_a_table_in_a_pipe_keeps_long_names_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    names = ("d" * 128, "t" * 128)
    print_table("tables", ("database", "table"), [names])
    printed = capsys.readouterr().out
    assert [name for name in names if name not in printed] == []


def test_no_escape_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(ESCAPE, ("name",), [(ESCAPE,)])
    echo(ESCAPE)
    echo(ESCAPE, err=True)
    with progress(ESCAPE) as tell:
        tell("[/x]")
    reported = capsys.readouterr()
    assert "\x1b" not in reported.out + reported.err
    assert reported.out.count("\\x1b[31m\\x1b]0;title\\x07") == 3


@pytest.mark.usefixtures("logging_restored")
def test_a_log_line_has_no_escape_and_begins_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "console")
    structlog.get_logger().info("event_parked", reason=f"{ESCAPE}\n2026-01-01T00:00:00Z [info] forged")
    reported = capsys.readouterr().err
    assert "\x1b" not in reported
    assert [line for line in reported.splitlines() if line.startswith("2026-01-01")] == []


@pytest.mark.usefixtures("logging_restored")
def test_json_keeps_the_text_whole(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    structlog.get_logger().info("event_parked", reason=ESCAPE)
    assert json.loads(capsys.readouterr().err)["reason"] == ESCAPE


def test_commands_print_by_output_alone() -> None:
    """Whatever prints past `say` and `print_table` would have to think of all this again."""
    whole = {"install.py", "output.py", "rule.py"}  # files that pysync writes, for other programs
    for path in Path(pysync.cli.__file__).parent.glob("*.py"):
        calls = {ast.unparse(it.func) for it in ast.walk(ast.parse(path.read_text())) if isinstance(it, ast.Call)}
        assert path.name in whole or not calls & {"typer.echo", "print", "click.echo"}, path.name


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("drr", "did you mean dr?"),
        ("DR", "did you mean dr?"),
        (" dr ", "did you mean dr?"),
        ("Lkae", "did you mean Lake?"),
        ("xyz", "its targets: dr, Lake"),
        ("", "its targets: dr, Lake"),
    ],
)
def test_what_is_meant(given: str, hint: str) -> None:
    assert meant(given, ["dr", "Lake"], "its targets") == hint
    assert meant(given, [], "its targets") == "its targets: none"


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=5))
def test_what_is_meant_is_something_that_there_is(given: str, known: list[str]) -> None:
    assert nearest(given, known) in {None, *known}


@given(st.text(st.characters(), max_size=200))
def test_what_is_quoted_is_one_short_line(text: str) -> None:
    assert quoted(text).isprintable()
    assert len(quoted(text)) <= 80 * 10 + 2


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(2, "No such file or directory", "/etc/passwd"), "No such file or directory"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (TimeoutError("timed out"), "timed out"),
        (ValueError("the name is wrong"), "the name is wrong"),
        (EOFError(), "EOFError"),
    ],
)
def test_an_error_of_the_system_is_told_in_its_words(error: Exception, words: str) -> None:
    assert error_text(error) == words


def test_a_file_name_that_is_no_text_can_be_printed() -> None:
    assert plain("a\udcffb") == r"a\udcffb"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("GetTables: 404: <!DOCTYPE html>\n<html><head><title>Not\n Found</title></head>", "an HTML page, 'Not Found'"),
        ("GetTables: 404: b'<html>\\n<body>x</body></html>'", "an HTML page"),
        ("GetTables: 404: \n<HTML lang=en><title>Sign in</title> x\n", "an HTML page, 'Sign in'"),
    ],
)
def test_an_html_page_is_named_and_not_shown(text: str, line: str) -> None:
    assert one_line(text) == f"GetTables: 404: {line}"


@pytest.mark.parametrize("text", ["a < b", "array<html>x", "no <title> here", "struct<a:int>"])
def test_what_is_no_page_is_shown(text: str) -> None:
    assert one_line(text) == text
