"""`pysync import-agent-conf`: for those who come from the AWS Glue sync agent for Hive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError

from pysync.cli.arguments import path
from pysync.migration.agent import import_agent_conf
from pysync.targets.settings import Name


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("import-agent-conf")(convert)


def source_name(value: Any) -> str:
    """The name of a source, as [source] name takes it."""
    try:
        return TypeAdapter(Name).validate_python(value)
    except ValidationError as error:
        raise typer.BadParameter(str(error.errors()[0]["ctx"]["error"])) from error


def convert(
    hive_site: Annotated[
        Path,
        typer.Argument(metavar="HIVE_SITE", parser=path, help="The hive-site.xml that configures the agent in HMS."),
    ],
    source: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            parser=source_name,
            help="Name of this metastore. Every object at the target is marked with it.",
        ),
    ] = "onprem",
) -> None:
    """Convert the settings of the AWS Glue sync agent for Hive to a pysync.toml, and print it.

    Comments in the output name the differences. Credentials in hive-site.xml are never printed.
    """
    typer.echo(import_agent_conf(hive_site, source), nl=False)
