"""`pysync web-password`: who may sign in on the page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pysync.base.errors import UsageError
from pysync.cli.arguments import path
from pysync.cli.output import echo
from pysync.web.passwords import LONGEST, assert_settable, set_password
from pysync.web.server import assert_installed


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command("web-password")(web_password)


def web_password(
    file: Annotated[Path, typer.Argument(metavar="FILE", parser=path, help="Password file; it is made if need be.")],
    user: Annotated[str, typer.Argument(metavar="USER", help="Name of the user, as the journal shows it.")],
) -> None:
    """Create or change a password for the page, in a file of mode 0600 that holds only its hash (argon2id).

    The password is asked for twice on a terminal, else it is the first line of standard input. Name the file in
    pysync.toml ([web] password_file). A running sidecar reads it at each request. To remove a user, delete the user's
    line from the file: that ends the user's sessions, too.
    """
    assert_installed("pysync web-password")
    assert_settable(file, user)  # before somebody types a password for nothing
    was_there = set_password(file, user, _password())
    echo(f"{file}: {'changed' if was_there else 'added'} {user}")


def _password() -> str:
    """What is typed or piped in; it is never shown."""
    if not sys.stdin.isatty():
        try:
            return sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
        except (OSError, ValueError) as error:  # closed, or no UTF-8
            raise UsageError("cannot read the password from standard input", "pipe one line of UTF-8") from error
    typed: str = typer.prompt("Password", hide_input=True)
    if typer.prompt("Again", hide_input=True) != typed:
        raise UsageError("the passwords differ", "run the command again")
    return typed
