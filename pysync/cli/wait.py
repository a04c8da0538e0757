"""`pysync wait`: until a target has what the source has now, or shows it as it was at one moment."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.cli.arguments import database_or_table, number, period
from pysync.cli.output import (
    AsJson,
    ConfigFile,
    assert_target,
    echo,
    offered_tables,
    one_target,
    outline_of,
    print_json,
    progress,
)
from pysync.control.client import NoSidecar, ask

LATE = 3
"""The exit code when the time is over."""
_AWAY_SECONDS = 1.0

_ForId = Annotated[
    int | None,
    typer.Option(
        "--for-id",
        metavar="ID",
        parser=number(1),
        help="Wait for all changes up to this event id of the source's notification log.",
    ),
]
_Now = Annotated[
    bool, typer.Option("--now", help="Wait for all changes that were made before this command. This is the default.")
]
_Consistent = Annotated[
    bool,
    typer.Option("--consistent", help="Wait until the target shows the database as the source had it at one moment."),
]
_Timeout = Annotated[
    float, typer.Option("--timeout", metavar="TIME", parser=period, show_default="5m", help="Give up after this time.")
]
_Pin = Annotated[
    float | None,
    typer.Option(
        "--pin",
        metavar="TIME",
        parser=period,
        show_default="1m",
        help="With --consistent: how long later changes of the database may be held back at the target, at most.",
    ),
]

Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(wait)


def wait(
    config: ConfigFile,
    name: Annotated[
        str,
        typer.Argument(
            metavar="DB|DB.TABLE",
            parser=database_or_table,
            autocompletion=offered_tables,
            help="The database or table, by its name at the source.",
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="With --consistent: run this (after --) while the database is pinned."),
    ] = None,
    *,
    target: Annotated[str | None, one_target("The target. Needed if there are several.")] = None,
    for_id: _ForId = None,
    now: _Now = False,
    consistent: _Consistent = False,
    timeout: _Timeout = 300.0,
    pin: _Pin = None,
    as_json: AsJson = False,
) -> None:
    """Wait until a target has all changes of a database or table that the source had when the command began.

    That covers changes that are still in a listener's spool, and those that a refresh has yet to read. A change counts
    from when its call at the metastore has returned.

    With --consistent the target shows the database as the source had it at one moment, at this one or later, when the
    command returns. Later changes of this database are held back for that, and while COMMAND runs, for --pin at most.
    Other databases go on.

    Exit code 0 when it is so; 1 if it cannot be (parked, paused, held by the brake, out of scope), and the output says
    what to do; 2 for wrong arguments; 3 when --timeout is over, and the output says what it waited for. With COMMAND:
    that command's exit code, or 1 if the pin ended before the command did. JSON format: docs/verify.md.
    """
    _assert_fits(command, for_id, pin, now=now, consistent=consistent)
    outline = outline_of(config)
    assert_target(config, target, outline.targets)
    wanted = target or _only(outline.targets)
    request: Json = {"object": name, "target": wanted, "event_id": for_id}
    if consistent:
        request |= {"consistent": True, "pin": pin}
    answer = _waited(partial(ask, outline.directory), request, timeout)
    released: Json = {}
    code = {"there": 0, "cannot": 1}.get(answer["state"], LATE)
    if consistent:
        code, released = _used(outline.directory, answer, code, command or ())
    _print({**{key: it for key, it in answer.items() if key != "wait"}, **released}, timeout, as_json)
    if code:
        raise typer.Exit(code)


def _assert_fits(
    command: Sequence[str] | None, for_id: int | None, pin: float | None, *, now: bool, consistent: bool
) -> None:
    if for_id is not None and (now or consistent):
        raise UsageError(f"--for-id and {'--now' if now else '--consistent'} exclude each other", "give one of them")
    if command and not consistent:
        raise UsageError("a COMMAND is run only while a database is pinned", "add --consistent")
    if pin is not None and not consistent:
        raise UsageError("nothing is pinned without --consistent", "add it, or leave --pin out")


def _only(targets: Sequence[str]) -> str:
    if len(targets) != 1:
        raise UsageError("there are several targets", f"add --target with one of: {', '.join(targets)}")
    return targets[0]


def _waited(ask_sidecar: Callable[..., Json], request: Json, timeout: float) -> Json:
    """The last answer: it is over, or the time is. A sidecar that is restarted meanwhile is waited for."""
    until, wait = time.monotonic() + timeout, None
    with progress(f"waiting for {request['object']} at {request['target']}") as on_progress:
        while True:
            try:
                answer = ask_sidecar("wait", **request, wait=wait, within=until - time.monotonic())
                wait = answer["wait"]
            except NoSidecar as error:
                if wait is None:
                    raise  # it never ran
                answer = {"state": "waits", "code": "no_sidecar", "text": error.message, "hint": error.hint}
                answer |= {"position": None, "wait": wait}
                time.sleep(_AWAY_SECONDS)
            on_progress(answer["text"])
            if answer["state"] != "waits" or time.monotonic() >= until:
                return answer


def _used(directory: Path, answer: Json, code: int, command: Sequence[str]) -> tuple[int, Json]:
    """Run the command while the database is pinned, and unpin it; returns the exit code, and what to report of it."""
    if code == 0 and command:
        try:
            ran = subprocess.run(command, check=False).returncode
        except OSError as error:
            ask(directory, "wait end", wait=answer["wait"])
            raise PysyncError(f"cannot run {command[0]}: {error.strerror}", "write a command that exists") from error
        pinned = bool(ask(directory, "wait end", wait=answer["wait"])["pinned"])
        return (ran if pinned else ran or 1), {"pinned": pinned, "exit_code": ran}
    pinned = bool(ask(directory, "wait end", wait=answer["wait"])["pinned"])
    return code, {"pinned": pinned} if code == 0 else {}


def _print(answer: Json, timeout: float, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    hint = f"; {answer['hint']}" if answer["hint"] else ""
    if answer["state"] == "waits":
        echo(f"pysync: not within {timeout:g} s: {answer['text']}{hint}", err=True)
    elif answer["state"] == "cannot":
        echo(f"pysync: {answer['text']}{hint}", err=True)
    else:
        echo(f"{answer['text']}.")
    if answer.get("pinned") is False:
        echo("pysync: the pin ended too early; the target may have shown later changes; use a longer --pin", err=True)
