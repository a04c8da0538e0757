"""The manual page: all that `--help` says, in a form that the readers of such pages take without a complaint."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pysync.cli import man_format
from pysync.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pysync.1"
READERS = {
    "groff": ["groff", "-man", "-ww", "-Tutf8", "-Z"],
    "man": ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"],
    "mandoc": ["mandoc", "-Tlint", "-Wall"],
    "lexgrog": ["lexgrog"],
}
needs_groff = pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed (Debian: groff-base)")


def printed() -> str:
    done = CliRunner().invoke(app, ["man"])
    assert done.exit_code == 0, done.output
    return done.stdout


def read(source: str) -> str:
    """What a person reads, without bold and italics, the lines joined."""
    command = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=1000n"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return " ".join(done.stdout.split())


def contexts(context: Any) -> list[Any]:
    """Those of the command, and of all below it."""
    names = context.command.list_commands(context) if hasattr(context.command, "list_commands") else []
    below = [
        type(context)(context.command.get_command(context, name), info_name=name, parent=context) for name in names
    ]
    return [context, *(it for each in below for it in contexts(each))]


def all_contexts() -> list[Any]:
    pysync = typer.main.get_command(app)
    return contexts(pysync.make_context("pysync", ["man"]))


def test_the_page_in_docs_is_what_pysync_prints() -> None:
    assert PAGE.read_text() == printed(), "run: make man"


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_complains(reader: str) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"{reader} is not installed (Debian: groff-base, man-db, mandoc)")
    done = subprocess.run([*READERS[reader], PAGE], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    if reader in {"mandoc", "lexgrog"}:
        assert not re.search(r"STYLE|WARNING|ERROR|parse failed", done.stdout), done.stdout


@needs_groff
def test_every_command_and_all_its_help_is_in_the_page() -> None:
    text = read(printed())
    for context in all_contexts():
        command = context.command
        assert context.command_path in text
        for reported in (command.help, command.epilog, *(getattr(it, "help", None) for it in command.params)):
            if context.parent is not None:  # pysync's own epilog is the section on exit codes
                assert " ".join((reported or "").replace("`", "").split()) in text
        for parameter in command.params:
            names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
            assert [name for name in names if name not in text] == []


@needs_groff
@pytest.mark.parametrize(
    "reported",
    [
        f"pysync {version('pysync')}",
        "/etc/pysync/pysync.toml",
        "/etc/pysync/token",
        "/var/lib/pysync",
        "PYSYNC_CONFIG",
        "EXIT STATUS 0 Success.",
        "2 The configuration or the arguments are wrong",
        "EXAMPLES",
        "SEE ALSO",
    ],
)
def test_the_page_tells_what_is_common_to_all(reported: str) -> None:
    assert reported in read(printed())


@needs_groff
def test_the_examples_are_commands_that_there_are() -> None:
    """Each is parsed, as far as its arguments go: `pysync parked list dr`."""
    known = {context.command_path for context in all_contexts()}
    section = PAGE.read_text().split(".SH EXAMPLES")[1].replace("\\", "")
    examples = re.findall(r"^(pysync [^|\n]+)", section, re.MULTILINE)
    assert len(examples) > 5
    for line in examples:
        words = [word for word in line.split() if not word.startswith("-")]
        assert {" ".join(words[:2]), " ".join(words[:3])} & known, line


def test_an_option_of_many_commands_is_told_once() -> None:
    assert printed().count(r"\fB\-\-config\fR \fIFILE\fR") == 1


# A terminal has other characters for these than their ASCII ones, unless a page asks for those.
HARD = st.text(st.sampled_from("\\.-'`^~ ab\"é…"), min_size=1, max_size=40).filter(lambda it: it.strip())


@needs_groff
@settings(max_examples=15)
@given(st.lists(HARD, min_size=20, max_size=40))
def test_every_text_is_shown_as_it_is(texts: list[str]) -> None:
    """Many at once, as groff takes a while to start."""
    texts = [f"<{' '.join(text.split())}>" for text in texts]
    source = ["." + it if it.startswith("TH") else it for it in (".TH A 1", ".nh", ".ad l")]
    source += [line for text in texts for line in (".TP", "x", man_format.escaped(text))]
    command = ["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=10000n"]
    done = subprocess.run(command, input="\n".join(source), capture_output=True, text=True, check=True, timeout=60)
    assert re.findall(r"<.*>", done.stdout) == texts


@given(HARD)
def test_no_line_of_prose_is_a_macro(text: str) -> None:
    assert [line for line in man_format.prose(text * 30) if line.startswith((".", "'"))] == []


def test_prose_has_short_lines_and_bold_code() -> None:
    lines = man_format.prose("See `pysync status` " + "and so on " * 30)
    assert lines[0].startswith(r"See \fBpysync status\fR and")
    assert max(map(len, lines)) < 80
    assert len(lines) > 3
