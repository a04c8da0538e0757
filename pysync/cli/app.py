"""The application: its commands, and how a refusal is shown: one line that says what, where and what to do."""

from __future__ import annotations

import sys

import typer

from pysync import __version__
from pysync.cli.commands import Commands
from pysync.cli.output import print_json, say
from pysync.errors import PysyncError

app = typer.Typer(
    cls=Commands,
    help="Replicate Hive Metastore changes to other metastores and to the AWS Glue Data Catalog.",
    epilog="Exit codes: 0 success; 1 a problem, which the output names; 2 wrong configuration or arguments.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help speaks of [bridge] and [[targets]]
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "-V", "--version", help="Print the version and exit."),
) -> None:
    """Take the options of pysync itself."""
    if version:
        say(f"pysync {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.Exit(2)


def refuse(error: PysyncError, *, as_json: bool) -> None:
    """Say why: a line on standard error for each problem, or one JSON object on standard output."""
    if as_json:
        print_json({"error": {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}})
        return
    for line in str(error).splitlines():
        say(f"pysync: {line}", err=True)


def main() -> None:
    """Run the command line; never shows a traceback for what a person can mend."""
    try:
        app()
    except PysyncError as error:
        refuse(error, as_json="--json" in sys.argv[1:])
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
