"""How commands and groups of commands show their help, and what they say to a command that they do not have.

`pysync --help` and the man page (pysync.cli.manual) are made of the same entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from pysync.base.errors import UsageError
from pysync.base.text import meant, quoted
from pysync.cli.output import echo

Entry = tuple[str, str]
"""A term and what it means: a command, an argument or an option."""


def arguments(command: Any, context: typer.Context) -> list[Entry]:
    """The arguments of a command."""
    parameters = [it for it in command.get_params(context) if it.param_type_name == "argument"]
    # The library adds Python's name of the type: `TABLE <list[str]>`.
    return [(_shown(it), text) for it in parameters for _, text in [it.get_help_record(context)]]


def options(command: Any, context: typer.Context) -> list[Entry]:
    """The options of a command."""
    return [
        record
        for it in command.get_params(context)
        if it.param_type_name == "option" and (record := it.get_help_record(context))
    ]


def usage(command: Any, context: typer.Context) -> list[str]:
    """What follows the name of a command: `[OPTIONS]`, `TARGET`, `[DB.TABLE]...`."""
    own = [] if isinstance(command, TyperCommand) else ["COMMAND", "[ARGS]..."]
    parameters = [it for it in command.get_params(context) if it.param_type_name == "argument"]
    return ["[OPTIONS]", *(_shown(it) if it.required else f"[{_word(it)}]{_more(it)}" for it in parameters), *own]


def first_sentence(text: str) -> str:
    """Up to the first full stop at the end of a word."""
    flat = " ".join(text.split())
    end = re.search(r"\.(?= [A-Z]|$)", flat)
    return flat[: end.end()] if end else flat


def place(context: typer.Context) -> str:
    """The command of a context, as it stands before what is wrong with it: `parked show: `, nothing for pysync."""
    below = context.command_path.partition(" ")[2]
    return f"{below}: " if below else ""


def name_of(parameter: Any) -> str:
    """The long name of an option, or the name of an argument as its command's help has it."""
    return str(parameter.opts[-1] if parameter.param_type_name == "option" else _word(parameter))


def _word(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _shown(argument: Any) -> str:
    return f"{_word(argument)}{_more(argument)}"


def _more(argument: Any) -> str:
    return "..." if argument.nargs != 1 else ""


@contextmanager
def _known(context: typer.Context) -> Iterator[None]:
    """Errors of arguments name the command; the library does so for some of them."""
    try:
        yield
    except TyperException as error:
        error.ctx = getattr(error, "ctx", None) or context  # type: ignore[attr-defined]
        raise


class _Summary:
    """Shells show it beside a command that they offer."""

    help: str | None

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002 - it is not cut
        """The first sentence of the help."""
        return first_sentence(self.help or "")


class Command(_Summary, TyperCommand):
    """One command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read its arguments and options."""
        with _known(ctx):
            return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows its name, without the braces of the library."""
        return usage(self, ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Its arguments and options."""
        _write(formatter, "Arguments", arguments(self, ctx))
        _write(formatter, "Options", options(self, ctx))


class Group(_Summary, TyperGroup):
    """A group of commands."""

    def summaries(self, ctx: Any) -> Iterator[tuple[str, Sequence[Entry]]]:
        """Under headings: the commands, and a sentence about each."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        yield "Commands", [(name, command.get_short_help_str()) for name, command in commands if command]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A whole sentence about each: the library would cut it."""
        for heading, entries in self.summaries(ctx):
            _write(formatter, heading, entries)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read its own options; without any argument, show the help instead."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help(), err=True)
            raise typer.Exit(2)
        with _known(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments begin with. Raises UsageError if there is none."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not ctx.resilient_parsing:
            raise UsageError(f"{place(ctx)}there is no command {quoted(name)}", meant(name, known, "commands"))
        return super().resolve_command(ctx, args)


class Family(typer.Typer):
    """A group to add commands to; all of them show their help as above."""

    def __init__(self, **settings: Any) -> None:
        # No markup: help speaks of [bridge] and [[targets]].
        super().__init__(**{"cls": Group, "rich_markup_mode": None, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Add a command."""
        return super().command(name, cls=Command, **settings)


def _write(formatter: Any, heading: str, entries: Sequence[Entry]) -> None:
    if entries:
        with formatter.section(heading):
            formatter.write_dl(entries)
