"""`pysync man`: the manual page, made of what `--help` says of each command, and of what is common to all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer

from pysync import __version__
from pysync.cli.commands import SECTIONS
from pysync.cli.family import Command, Entry, arguments, first_sentence, options, usage
from pysync.cli.man_format import (
    bold,
    escaped,
    example,
    header,
    paragraphs,
    prose,
    section,
    subsection,
    synopsis,
    terms,
)
from pysync.cli.output import echo

_FEW = 3  # commands: an option that more of them have is described once
_DATE = "2026-11-23"  # of the last change of the texts below
_ABOUT = """
A listener inside the Hive Metastore (HMS), a jar, hands every committed change to the sidecar, which `pysync run`
starts. The sidecar keeps each change in a queue on disk, and replays it to every target: another metastore, or the AWS
Glue Data Catalog. Nothing is lost if a process dies; what may have been missed is found by a comparison of source and
targets.

Most other commands ask the running sidecar, or read its configuration.
"""
_EXIT: tuple[Entry, ...] = (
    ("0", "Success."),
    ("1", "A problem, which the output names: a server cannot be reached, a target has parked events, there is drift."),
    ("2", "The configuration or the arguments are wrong; nothing was begun."),
    ("3", "The time of `pysync wait` is over."),
    ("130", "Stopped by Ctrl-C."),
)
_ENVIRONMENT: tuple[Entry, ...] = (
    ("PYSYNC_CONFIG", "The configuration file for commands without `--config`."),
    ("SPARK_CONF_DIR, HADOOP_CONF_DIR", "Where Spark finds its settings and secrets, if data files are copied."),
    ("KRB5_CONFIG, KRB5CCNAME", "Of the Kerberos library, if a metastore needs a Kerberos login."),
    ("AWS_PROFILE, AWS_ACCESS_KEY_ID, ...", "Of the AWS library, for targets of kind glue and athena."),
)
_FILES: tuple[Entry, ...] = (
    ("/etc/pysync/pysync.toml", "The configuration."),
    ("/etc/pysync/token", "The secret that listener and sidecar share, mode 0600. `pysync token` creates it."),
    (
        "/var/lib/pysync",
        "The queue ([queue] directory), and the socket control.sock, at which the running sidecar answers commands.",
    ),
    ("/var/lib/pysync/spool", "Events that the listener has, and the sidecar does not have yet (pysync.spool.dir)."),
)
_EXAMPLES: tuple[Entry, ...] = (
    ("Set up the sidecar on the host of HMS:", "pysync token /etc/pysync/token\npysync check\npysync run"),
    ("Put the listener into HMS:", 'cp "$(pysync jar)" "$HIVE_HOME/lib/"\npysync hive-site'),
    ("See whether all is well:", "pysync status"),
    (
        "See what the target dr refused, and try it again once the reason is gone:",
        "pysync parked list dr\npysync parked retry dr",
    ),
    (
        "Compare two tables and the target dr, and repair what differs:",
        "pysync verify sales.orders sales.items --target dr --repair",
    ),
    ("The first problem, for a script:", "pysync status --json | jq -r '.problems[0]'"),
)
_SEE_ALSO = "`pysync docs`; `hive`(1), `systemctl`(1), `journalctl`(1); each command's `--help`."


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command("man")(man)


def man(context: typer.Context) -> None:
    """Show the manual page. Where standard output is no terminal, print its source: pysync man > pysync.1."""
    pysync: Any = context.find_root().command
    # A context of its own: however it was started, it is called pysync.
    text = "\n".join(page(pysync.make_context("pysync", ["man"])))
    viewer = shutil.which("man") if sys.stdout and sys.stdout.isatty() else None
    if viewer is None or subprocess.run([viewer, "-l", "-"], input=text.encode(), check=False).returncode:
        echo(text)


def page(root: Any) -> Iterator[str]:
    """The lines of the page, for man(1); `root` is the context of pysync itself."""
    pysync = root.command
    yield from header("PYSYNC", 1, _DATE, f"pysync {__version__}", "User Commands")
    yield from section("Name", [r"pysync \-", *prose(first_sentence(pysync.help).rstrip("."))])
    yield from section("Synopsis", [synopsis(["pysync", "[OPTIONS]", "COMMAND", "[ARGS]..."])])
    yield from section("Description", paragraphs(_ABOUT))
    yield from section("Options", _options(options(pysync, root)))
    commons = _common(root)
    yield from section("Common options", [*paragraphs("Where a command has them:"), *_options(commons)])
    for heading, commands in SECTIONS.items():
        yield f".SH {heading.upper()}"
        for name in commands:
            for context in _commands(root, name):
                yield from subsection(_title(context), _described(context, commons))
    yield from section("Exit status", terms((bold(code), text) for code, text in _EXIT))
    yield from section("Environment", terms((bold(name), text) for name, text in _ENVIRONMENT))
    yield from section("Files", terms((rf"\fI{escaped(it)}\fR", text) for it, text in _FILES))
    yield from section("Examples", [line for text, typed in _EXAMPLES for line in (*paragraphs(text), *example(typed))])
    yield from section("See also", paragraphs(_SEE_ALSO))


def _commands(parent: Any, name: str) -> Iterator[Any]:
    """The command of that name; of a group itself, and its commands."""
    command = parent.command.get_command(parent, name)
    context = type(parent)(command, info_name=name, parent=parent)
    yield context
    if not isinstance(command, Command):
        for below in command.list_commands(context):
            yield from _commands(context, below)


def _common(root: Any) -> list[Entry]:
    """The options that several commands have, the same at each."""
    contexts = [it for names in SECTIONS.values() for name in names for it in _commands(root, name)]
    entries = [entry for context in contexts for entry in options(context.command, context)]
    return [entry for entry, times in Counter(entries).most_common() if times > _FEW]


def _title(context: Any) -> str:
    return synopsis([context.command_path, *usage(context.command, context)])


def _described(context: Any, commons: list[Entry]) -> Iterator[str]:
    command = context.command
    yield from paragraphs(command.help)
    yield from terms((synopsis([name]), text) for name, text in arguments(command, context))
    yield from _options([entry for entry in options(command, context) if entry not in commons])
    if command.epilog:
        yield from paragraphs(command.epilog)


def _options(entries: list[Entry]) -> Iterator[str]:
    return terms((synopsis([name]), text) for name, text in entries)
