"""`pysync import-rule`: for those who come from hms-sync of SSM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError

from pysync.base.errors import UsageError
from pysync.base.files import MOST_IN_SETTINGS, content
from pysync.base.text import size
from pysync.cli.arguments import path
from pysync.setup.rule_config import import_rules
from pysync.setup.rule_text import Text
from pysync.targets.settings import Name

_INPUT = "-"


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("import-rule")(convert)


def source_name(value: Any) -> str:
    """The name of a source, as [source] name takes it."""
    try:
        return TypeAdapter(Name).validate_python(value)
    except ValidationError as error:
        raise typer.BadParameter(str(error.errors()[0]["ctx"]["error"])) from error


def convert(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="RULE",
            show_default=False,
            help="The rule, in quotes of the shell; - reads rules from standard input.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path,
            show_default=False,
            help="Read rules from a file, one in a line; # is a comment.",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            parser=source_name,
            help="Name of this metastore. Every object at the target is marked with it.",
        ),
    ] = "onprem",
) -> None:
    """Convert rules of SSM's hms-sync to a pysync.toml, and print it.

    Comments in the output name the differences. What has no counterpart is a warning, there and on standard error.
    """
    targets = import_rules(_text(rule, file), source)
    for warning in targets.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(targets.text, nl=False)


def _text(rule: str | None, file: Path | None) -> Text:
    """The text with the rules, from the one place that was named."""
    if (rule is None) == (file is None):
        raise UsageError(
            "import-rule needs a rule" if rule is None else "RULE and --file exclude each other",
            "write the rule in quotes, --file FILE, or - for standard input",
        )
    try:
        if file is not None:
            return Text(content(file).decode("utf-8"), str(file))
        return Text(_typed(), "standard input") if rule == _INPUT else Text(rule or "")
    except OSError as error:
        raise UsageError(f"cannot read {file or 'standard input'}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file or 'standard input'} is not text in UTF-8") from error


def _typed() -> str:
    """What comes by standard input. Raises UsageError for more than a file may have."""
    text = sys.stdin.read(MOST_IN_SETTINGS + 1)
    if len(text) > MOST_IN_SETTINGS:
        raise UsageError(f"standard input has more than {size(MOST_IN_SETTINGS)}")
    return text
