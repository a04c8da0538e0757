"""`pysync token`, `jar`, `hive-site`: what a person does once, to put the listener into HMS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pysync.base.errors import UsageError
from pysync.base.jars import listener_jar
from pysync.base.token import write_token
from pysync.cli.arguments import path
from pysync.cli.output import ConfigFile, echo, print_changes
from pysync.config import load_config
from pysync.hive_site import files, to_xml
from pysync.hive_site.document import Document
from pysync.hive_site.merge import Edited
from pysync.setup import listener_settings
from pysync.setup.plan import merging
from pysync.setup.removal import take_back

_SPOOL = Path("/var/lib/pysync/spool")


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(token)
    app.command()(jar)
    app.command("hive-site")(hive_site)


def token(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=path, help="File to write. An existing file is never overwritten.")
    ],
) -> None:
    """Create the secret that the listener and the sidecar share: 256 random bits in a file of mode 0600.

    Both processes read the file, so both must run as its owner. Name the file in pysync.toml ([bridge] token_file) and
    in hive-site.xml (pysync.bridge.token.file). Neither of them holds the secret itself.
    """
    write_token(file)
    typer.echo(file)


def jar() -> None:
    """Print the path of the listener jar. Copy the jar to the class path of HMS."""
    typer.echo(listener_jar())


def hive_site(
    config: ConfigFile,
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            parser=path,
            help="Directory where the listener keeps events until the sidecar has them. Default: the one in the merged "
            "file, or /var/lib/pysync/spool.",
        ),
    ] = None,
    merge: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=path, help="Add them to this hive-site.xml. A backup is kept.")
    ] = None,
    unmerge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=path, help="Remove them from this hive-site.xml. A backup is kept."),
    ] = None,
) -> None:
    """Print the properties that the hive-site.xml of HMS needs, or add them to the file.

    All else in the file stays as it is: other listeners, comments, order and encoding. Merging twice changes nothing.
    """
    if merge and unmerge:
        raise UsageError("--merge and --unmerge exclude each other", "give one of them")
    if unmerge:
        _rewrite(unmerge, take_back)
        return
    settings = listener_settings(load_config(config), spool or _SPOOL)
    if merge:
        _rewrite(merge, merging(settings, spool_is_given=spool is not None))
    else:
        typer.echo(to_xml(settings))


def _rewrite(path: Path, edit: Callable[[Document, str], Edited]) -> None:
    rewrite = files.plan(path, edit)
    backup = files.apply(rewrite)
    print_changes(rewrite.path, rewrite.changes)
    echo(f"what it was before: {backup}" if backup else f"{rewrite.path}: nothing to do")
