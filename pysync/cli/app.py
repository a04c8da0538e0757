"""The application: its commands, and how a refusal is shown: one line that says what, where and what to do."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

import typer
from typer.exceptions import TyperException

from pysync import __version__
from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import meant, one_line, quoted
from pysync.cli.commands import CommandGroup
from pysync.cli.family import Family, name_of, place
from pysync.cli.output import complain, echo, print_json

_HELP = """\
Replicate Hive Metastore changes to other metastores and to the AWS Glue Data Catalog.

A listener inside the Hive Metastore (HMS) hands every change to the sidecar, which `pysync run` starts. The sidecar
replays the changes to the targets that pysync.toml names. See it work first: `pysync demo`. The manual: `pysync man`,
`pysync docs`.
"""

app = Family(
    cls=CommandGroup,
    help=_HELP,
    epilog="Exit codes: 0 success; 1 a problem, which the output names; 2 wrong configuration or arguments; "
    "3 the time of pysync wait is over; 130 Ctrl-C.",
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "-V", "--version", help="Print the version and exit."),
) -> None:
    """Take the options of pysync itself."""
    if version:
        echo(f"pysync {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.Exit(2)


def refuse(error: PysyncError, *, as_json: bool) -> int:
    """Say why: a line on standard error for each problem, or one JSON object on standard output."""
    try:
        if as_json:
            print_json({"error": {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}})
        else:
            complain(str(error))
    except OSError:  # standard output is on a full disk
        with suppress(OSError):
            complain(str(error))
    return error.exit_code


def main() -> None:
    """Run the command line; never shows a traceback for what a person can mend."""
    as_json = "--json" in sys.argv[1:]
    if "_PYSYNC_COMPLETE" in os.environ:
        # The library breaks what it says of a word into lines, and shells would offer each line as a word.
        os.environ["COLUMNS"] = "10000"
    try:
        sys.exit(app(prog_name="pysync", standalone_mode=False))
    except PysyncError as error:
        sys.exit(refuse(error, as_json=as_json))
    except TyperException as error:
        sys.exit(refuse(explained(error), as_json=as_json))
    except typer.Abort:
        sys.exit(refuse(PysyncError("stopped: the question was not answered", "give --yes"), as_json=as_json))
    except OSError as error:
        sys.exit(refuse(_failed(error), as_json=as_json))
    except KeyboardInterrupt:
        sys.exit(130)


def explained(error: Any) -> UsageError:
    """What the library says of arguments, in one line, by the command and the argument that it is about."""
    context = error.ctx
    if hasattr(error, "possibilities"):
        known = [name for it in context.command.get_params(context) for name in it.opts if name.startswith("--")]
        text = f"there is no option {quoted(error.option_name)}"
        return UsageError(f"{place(context)}{text}", meant(error.option_name, known, "options"))
    if isinstance(error, typer.BadParameter) and error.param is not None and error.message:
        return UsageError(f"{place(context)}{name_of(error.param)}: {error.message}")
    text = one_line(error.format_message()).rstrip(".")
    return UsageError(f"{place(context)}{text[:1].lower()}{text[1:]}", f"see: {context.command_path} --help")


def _failed(error: OSError) -> PysyncError:
    """What the system refused and nobody expected: a full disk, a file that is another's."""
    where = f"{error.filename}: " if error.filename else ""
    return PysyncError(f"{where}{error.strerror or error}")
