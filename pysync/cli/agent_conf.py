"""`pysync import-agent-conf`: for those who come from the AWS Glue sync agent for Hive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pysync.migration.agent_conf import import_agent_conf


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("import-agent-conf")(convert)


def convert(
    hive_site: Annotated[
        Path, typer.Argument(metavar="HIVE_SITE", help="The hive-site.xml of HMS with the agent in it.")
    ],
    source: Annotated[str, typer.Option(help="The name of this metastore, as every object at the target will say.")] = (
        "onprem"
    ),
) -> None:
    """Print a pysync.toml that does what the AWS Glue sync agent for Hive was set to do, and what is different.

    Credentials that are in hive-site.xml are never printed.
    """
    typer.echo(import_agent_conf(hive_site, source), nl=False)
