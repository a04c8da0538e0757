"""`pysync token`, `jar`, `hive-site`: what a person does once, to put the listener into HMS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pysync.cli.arguments import path
from pysync.cli.output import ConfigFile
from pysync.config import load_config
from pysync.install import hive_site_for, listener_jar
from pysync.token import write_token


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
    """Print the path of the listener jar. Copy the jar to the class path of HMS: cp "$(pysync jar)" $HIVE_HOME/lib/."""
    typer.echo(listener_jar())


def hive_site(
    config: ConfigFile,
    spool: Annotated[
        Path,
        typer.Option(
            metavar="DIRECTORY",
            parser=path,
            help="Directory where the listener keeps events until the sidecar has them.",
        ),
    ] = Path("/var/lib/pysync/spool"),
) -> None:
    """Print the properties that the hive-site.xml of HMS needs.

    Add them to hive-site.xml, put the listener jar on the class path (see pysync jar --help), and restart HMS. If
    hive-site.xml has hive.metastore.event.listeners already, add the class to its value, after a comma.
    """
    typer.echo(hive_site_for(load_config(config), spool))
