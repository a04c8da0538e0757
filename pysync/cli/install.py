"""`pysync token`, `jar`, `hive-site`: what a person does once, to put the listener into HMS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    file: Annotated[Path, typer.Argument(help="Where to write it; never overwritten.")],
) -> None:
    """Make the secret that listener and sidecar share: 256 random bits in a file of mode 0600.

    Both processes read the file, so both run as its owner; it is named in pysync.toml ([bridge] token_file) and in
    hive-site.xml (pysync.bridge.token.file), and is never written into either.
    """
    write_token(file)
    typer.echo(file)


def jar() -> None:
    """Print the path of the listener jar, to be copied onto the class path of HMS."""
    typer.echo(listener_jar())


def hive_site(
    config: ConfigFile,
    spool: Annotated[Path, typer.Option(help="Where the listener keeps events while no sidecar runs.")] = Path(
        "/var/lib/pysync/spool"
    ),
) -> None:
    """Print the properties to paste into the hive-site.xml of HMS."""
    typer.echo(hive_site_for(load_config(config), spool))
