"""Whatever stands in a command line: one line that says what is wrong, where, and what to do, in nobody's code."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.exceptions import TyperException

from pysync.base.errors import PysyncError, UsageError
from pysync.cli.app import app, explained, main
from tests.support.examples import some

CONF = """
[source]
name = "onprem"
[bridge]
token_file = "{place}/token"
[queue]
directory = "{place}/queue"
[[targets]]
name = "dr"
kind = "faulty"
[[targets]]
name = "lake"
kind = "faulty"
"""
GARBAGE = [
    "",
    " ",
    "\t",
    "ünïcödé",
    "表.テーブル",
    "a\nb",
    "a\rb",
    "a\0b",
    "\x1b[31mred",
    "\u202eabc",
    "\udcff",
    "-1",
    "--",
    "-x",
    "0",
    "9" * 30,
    "9" * 5000,
    "1e9",
    "1_000",
    "٣",
    "nan",
    "x" * 100_000,
    ".",
    "..",
    "a.b.c",
    ".b",
    "a.",
    "/",
    "/dev/null",
    "/proc/self/mem",
    "/" + "x" * 300,
    "'",
    '"',
    "${HOME}",
    "%s%n",
    "a=b",
    "=",
    "db.'('",
    "sales.'a{99999999999}'",
]
ODD = re.compile(
    r"Traceback|<class|<[\w.]+ object|PosixPath|\[Errno|Input should|Value error|Error\(|\bNone\b|\{'[a-z]"
)

# What the other arguments are, when one is tried.
FITTING = {"TARGET": "dr", "POSITION": "1", "FILE": "file", "DIRECTORY": "dump", "HIVE_SITE": "hive-site.xml"}
FITTING |= {"POSITION|TIME": "1", "KIND": "faulty", "DB|DB.TABLE": "db"}
FITTING |= {"DB|DB.VIEW": "db", "DB.TABLE": "db.t", "OLD": "dr", "NEW": "new", "NAME": "gone", "INSTANCE": "i-1"}
FITTING |= {"STATEMENT": "REPL DUMP sales"}
# Where any value will do, and a server would start.
HELD = {("demo", "--directory"): ["--target", "x"], ("embedded", "DIRECTORY"): ["--port", "x"]}


# What may be run here: each ends at once, at a value, at a missing file or at a missing sidecar. A command that would
# change the machine belongs to READ_ONLY: its lines are read, and nothing is begun.
RUN = """
token, jar, hive-site, check, import-rule, man, run, status, wait, events, why, actions, verify,
plan, pause, resume, held list, held keep, held drop, kept list, kept release,
parked list, parked show, parked retry, parked skip, parked adopt, refresh, reload, replay,
policy test, target list, target show, target add, target set, target enable, target disable, target policy,
target rename, target remove, trash list, trash restore, trash empty, listener remove, bootstrap, dump, load, repl,
copy, demo, embedded, web-password, tables, monitoring, promote, views, docs
"""
READ_ONLY = "init, uninstall"
# What needs no sidecar: the journal, and pysync.toml, tell it.
ANSWERED = {"actions", "why", "policy test", "target list", "target show", "target add", "target set"}
ANSWERED |= {"target enable", "target disable", "target rename", "target remove"}


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not hasattr(group, "list_commands"):
        yield path.strip(), group
        return
    for name in group.list_commands(None):
        yield from commands(group.get_command(None, name), f"{path} {name}")


ROOT: Any = typer.main.get_command(app)
COMMANDS = dict(commands(ROOT))


def listed(paths: str) -> list[str]:
    return [path for path in " ".join(paths.split()).split(", ") if path]


def name_of(parameter: Any) -> str:
    return parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar


VALUES = [
    (path, name_of(it))
    for path, command in COMMANDS.items()
    for it in command.params
    if path in listed(RUN) and not getattr(it, "is_flag", False)
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to be in, with a configuration that needs no server; no sidecar runs."""
    (tmp_path / "pysync.toml").write_text(CONF.format(place=tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSYNC_CONFIG", str(tmp_path / "pysync.toml"))
    return tmp_path


class Runner:
    """`pysync ARGUMENTS`, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[Any, str, str]:
        self._monkeypatch.setattr("sys.argv", ["pysync", *arguments])
        self._monkeypatch.setattr("pysync.cli.app.app", ROOT)  # built once for thousands of lines
        with pytest.raises(SystemExit) as ended:
            main()
        output = self._capsys.readouterr()
        return ended.value.code or 0, output.out, output.err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capsys)


def line_of(path: str, tried: str, value: str) -> list[str]:
    """The command with one value, and else what fits."""
    words, options = list[str](), [*path.split()]
    for it in COMMANDS[path].params:
        if name_of(it) == tried and it.param_type_name == "option":
            options.append(f"{tried}={value}")
        elif name_of(it) == tried:
            words.append(value)
        elif it.required and it.param_type_name == "option":
            options.append(f"{name_of(it)}={FITTING[it.metavar]}")
        elif it.required or (path == "parked skip" and it.metavar == "POSITION" and tried != "--table"):
            words.append(FITTING.get(it.metavar, "x"))
    sure = ["--yes"] if "--yes" in [name_of(it) for it in COMMANDS[path].params] else []
    return [*options, *sure, *HELD.get((path, tried), ()), "--", *words]


def assert_plain(code: Any, out: str, err: str, about: str) -> None:
    assert code in (0, 1, 2), about
    assert not ODD.search(out + err), (about, out, err)
    if code:
        assert len(err.splitlines()) == 1, (about, err)
        assert re.match(r"pysync: \S", err), (about, err)
        assert len(err) < 1000, about
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", err), about


def test_every_command_is_known_to_these_tests() -> None:
    assert sorted([*listed(RUN), *listed(READ_ONLY)]) == sorted(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_help_names_no_type_of_python_and_no_argument_twice(run: Runner, path: str) -> None:
    code, out, err = run(*path.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: pysync {path} [OPTIONS]")
    assert not re.search(r"<(?!\w+\|)|\{|list\[|\]\.\.\.\]|\bNone\b|x>=", out), out


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("group", ["", "parked", "target", "listener"])
def test_no_summary_is_cut(run: Runner, monkeypatch: pytest.MonkeyPatch, group: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(*group.split(), "--help")
    assert (code, "..." in out.split("ARGS]...", 1)[1]) == (0, False), out
    below = [path.split()[-1] for path in COMMANDS if path.split()[:-1] == group.split()]
    for name in below:
        (summary,) = re.findall(rf"^  {name}  +(\S.*(?:\n    .*)*)", out, re.MULTILINE)
        assert re.fullmatch(r"[A-Z].*\.", " ".join(summary.split())), summary
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize(("path", "tried"), VALUES, ids=lambda it: it.replace(" ", "-"))
def test_no_value_is_answered_with_more_than_a_line(run: Runner, place: Path, path: str, tried: str) -> None:
    for value in some(GARBAGE, f"{path} {tried}"):
        assert_plain(*run(*line_of(path, tried, value)), f"{path} {tried} {value[:50]!r}")


@pytest.mark.parametrize(
    "path", [path for path in listed(RUN) if "--json" in str([it.opts for it in COMMANDS[path].params])]
)
def test_with_json_every_refusal_is_json(run: Runner, place: Path, path: str) -> None:
    for it in COMMANDS[path].params:
        if not getattr(it, "is_flag", False):
            for value in ("", "a\nb", "nope", "--", "\udcff"):
                line = line_of(path, name_of(it), value)
                code, out, err = run(*line[: line.index("--")], "--json", *line[line.index("--") :])
                if path in ANSWERED and code == 0:
                    assert "error" not in json.loads(out)
                    continue
                assert (code in (1, 2), err) == (True, ""), (line, out)
                error = json.loads(out)["error"]
                assert (error["exit_code"], bool(error["message"]), "hint" in error) == (code, True, True)
                assert not ODD.search(out)


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("statsu", "there is no command 'statsu'; did you mean status?"),
        ("STATUS", "there is no command 'STATUS'; did you mean status?"),
        ("parked lst", "parked: there is no command 'lst'; did you mean list?"),
        ("target renam", "target: there is no command 'renam'; did you mean rename?"),
        ("parked xyz", "parked: there is no command 'xyz'; commands: list, show, retry, skip"),
        ("status --jsn", "status: there is no option '--jsn'; did you mean --json?"),
        ("status -q", "status: there is no option '-q'; options: --config, --object, --watch, --json, --help"),
        ("status --json=yes", "status: option '--json' does not take a value; see: pysync status --help"),
        ("status -c", "status: option '-c' requires an argument; see: pysync status --help"),
        ("status x y", "status: got unexpected extra argument(s) (y); see: pysync status --help"),
        ("parked show dr", "parked show: missing argument 'POSITION'; see: pysync parked show --help"),
        ("parked show dr first", "parked show: POSITION: 'first' is not a whole number; write 1, for example"),
        ("parked show dr 0", "parked show: POSITION: 0 is out of range; the minimum is 1"),
        (f"events --limit {2**63}", f"events: --limit: {2**63} is out of range; the maximum is {2**63 - 1}"),
        ("events --table sales", "events: --table: 'sales' is not a table name; write db.table"),
        ("refresh sales.orders sales", "refresh: DB.TABLE: 'sales' is not a table name; write db.table"),
        ("verify a.b.c", "verify: DB|DB.TABLE: 'a.b.c' is not the name of a database or table; write db or db.table"),
        ("dump d --files all", "dump: --files: 'all' is not allowed; write one of: copy, list, none"),
        ("dump d --files lst", "dump: --files: 'lst' is not allowed; did you mean list?"),
        ("demo --target hsm", "demo: --target: 'hsm' is not allowed; did you mean hms?"),
        ("embedded d --port 70000", "embedded: --port: 70000 is out of range; the maximum is 65535"),
        ("embedded d --set x", "embedded: --set: 'x' is not a setting; write KEY=VALUE"),
        ("import-rule x --source a/b", "import-rule: --source: 'a/b' is not a valid name; use"),
        ("import-rule", "import-rule needs a rule; write the rule in quotes, --file FILE, or - for standard input"),
        ("token ''", "token: FILE: the path is empty; write the path of a file or directory"),
        ("pause drr", "pysync.toml has no target 'drr'; did you mean dr?"),
        ("pause lkae", "pysync.toml has no target 'lkae'; did you mean lake?"),
        ("resume x", "pysync.toml has no target 'x'; its targets: dr, lake"),
        ("parked retry drr", "pysync.toml has no target 'drr'; did you mean dr?"),
        ("plan --target DR", "pysync.toml has no target 'DR'; did you mean dr?"),
        ("plan --scope --target drr", "pysync.toml has no target 'drr'; did you mean dr?"),
        ("bootstrap --target drr", "pysync.toml has no target 'drr'; did you mean dr?"),
        ("load dump --target drr", "pysync.toml has no target 'drr'; did you mean dr?"),
        ("verify --target drr", "pysync.toml has no target 'drr'; did you mean dr?"),
    ],
)
def test_what_is_misspelt_is_told_with_what_is_meant(run: Runner, place: Path, line: str, output: str) -> None:
    (place / "hive-site.xml").write_text("<configuration/>")
    code, out, err = run(*(word.strip("'") for word in line.split()))
    assert (code, out) == (2, "")
    assert output in err
    assert_plain(code, out, err, line)


def test_a_variable_is_refused_by_the_name_of_its_option(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSYNC_CONFIG", " ")
    assert run("status") == (
        2,
        "",
        "pysync: status: --config: the path is empty; write the path of a file or directory\n",
    )


@pytest.mark.parametrize("group", ["", "parked", "target", "listener"])
def test_a_group_alone_shows_its_help_and_fails(run: Runner, group: str) -> None:
    code, out, err = run(*group.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"Usage: pysync {group}".rstrip())


def test_a_question_that_nobody_answers_is_a_refusal(run: Runner, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, out, err = run("parked", "skip", "dr", "1", "--json")
    assert (code, json.loads(out)["error"]["hint"]) == (1, "give --yes")
    assert "will be skipped for good" in err


@pytest.mark.parametrize(
    ("line", "output"),
    [
        (["--help"], "No space left on device"),
        (["man"], "No space left on device"),
        (["check", "--json"], "No space left on device"),
        (["status", "--json"], "no sidecar runs on the queue in"),
        (["status"], "no sidecar runs on the queue in"),
    ],
)
def test_a_full_disk_is_told_in_a_line(place: Path, line: list[str], output: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "pysync", *line]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert done.stderr.startswith(f"pysync: {output}")


WORDS = st.text(max_size=30).filter(lambda it: not ODD.search(it)) | st.sampled_from(GARBAGE)
OPTIONS = sorted({name for it in COMMANDS.values() for each in it.params for name in each.opts if name[0] == "-"})


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(COMMANDS)),
    st.lists(WORDS | st.sampled_from([*OPTIONS, "--help", "dr", "a.b", "1"]), max_size=8),
)
def test_any_line_is_read_or_refused_in_a_line(path: str, words: list[str]) -> None:
    """Read only: nothing is begun."""
    try:
        COMMANDS[path].make_context(f"pysync {path}", list(words))
    except typer.Exit:
        assert "-h" in str(words)
    except (TyperException, PysyncError) as error:
        output = explained(error) if isinstance(error, TyperException) else error
        assert isinstance(output, UsageError)
        assert "\n" not in str(output), words
        assert not ODD.search(str(output)), words
        assert len(str(output)) < 1000
