"""`pysync demo`, `embedded`: trying pysync out on real servers, without a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer
from rich.console import Console

from pysync.cli.output import AsJson, print_json, print_table, say
from pysync.demo.lake import Lake
from pysync.demo.show import Result, Show
from pysync.demo.stage import Stage
from pysync.embedded import EmbeddedMetastore
from pysync.embedded.aws import EmbeddedAws
from pysync.errors import UsageError
from pysync.sidecar.shutdown import Shutdown
from pysync.verify.compare import EQUAL


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(demo)
    app.command()(embedded)


def demo(
    target: Annotated[
        Literal["hms", "spark", "glue", "athena"],
        typer.Option(help="Where the changes go: a second metastore (known by thrift or by Spark alone), or Glue."),
    ] = "hms",
    *,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the data, too, and read the rows at both ends.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave it running until Ctrl-C, to play with.")] = False,
    directory: Annotated[
        Path | None, typer.Option(help="An empty directory to work in; a temporary one unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the main job on real servers: two metastores, Spark, and a sidecar that is killed half-way.

    Spark SQL makes and changes databases, tables, partitions, views and functions at the first metastore; the second
    must end up the same. Ends with 0 if it does, with 1 if not. Takes a minute or two; needs a JDK and pyspark.

    With --target spark the sidecar knows the second metastore only by the catalog of a Spark session.
    With --target glue or athena it is a Glue Data Catalog on this machine that must; no account is needed.
    With --copy the files come along: the rows are read by a Spark that knows only the second metastore.
    """
    if copy and target not in {"hms", "spark"}:
        raise UsageError("--copy shows a second metastore", "leave out --target")
    with ExitStack() as stack:
        place = directory or Path(stack.enter_context(TemporaryDirectory(prefix="pysync-demo-")))
        place.mkdir(parents=True, exist_ok=True)
        lake = Lake(place.absolute() / "aws", target) if target in {"glue", "athena"} else None
        options = "copy = true\n" if copy else ""
        stage = stack.enter_context(Stage(place.absolute(), lake=lake, options=options, by_spark=target == "spark"))
        progress = stack.enter_context(Console(stderr=True).status("begins"))
        result = Show(stage, progress.update).run()
        progress.stop()
        _print_demo(result, as_json)
        if keep:
            _keep(stage)
    if not result.equal:
        raise typer.Exit(1)


def _print_demo(result: Result, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(result), "equal": result.equal})
        return
    print_table(
        "what happened",
        ("step", "statements", "seconds"),
        [(step.title, step.statements or None, f"{step.seconds:.2f}") for step in result.steps],
    )
    print_table(
        "source and target, object by object",
        ("kind", "name", "partitions", "result"),
        [
            (item.kind, item.name, item.parts or None, "\n".join((item.result, *item.fields)))
            for item in result.compared
        ],
    )
    if result.rows:
        print_table(
            "rows, as read by a Spark of the source and one of the target",
            ("table", "source", "target", "result"),
            [(it.table, it.source, it.target, EQUAL if it.equal else "different") for it in result.rows],
        )
    equal = sum(item.result == EQUAL for item in result.compared)
    seconds = sum(step.seconds for step in result.steps)
    say(f"{equal} of {len(result.compared)} objects are equal, after {seconds:.0f} s")


def _keep(stage: Stage) -> None:
    say(f"""
It all runs until you press Ctrl-C. In another terminal:
  pysync status -c {stage.config_file}
  pyspark --conf spark.sql.catalogImplementation=hive --conf spark.hadoop.hive.metastore.uris={stage.source.uri} \\
          --conf spark.sql.warehouse.dir=file:{stage.source.warehouse}
  {_look(stage)}""")
    _until_interrupted()


def _look(stage: Stage) -> str:
    """How to look at the target."""
    if stage.lake is None:
        return f"and the same with {stage.target.uri} to look at the target"
    variables = " ".join(f"{name}={value}" for name, value in stage.lake.aws.environment().items())
    return f"{variables} aws glue get-tables --database-name shop"


def _until_interrupted() -> None:
    ending = Shutdown()
    ending.on_signals()
    while not ending.comes():
        pass


def embedded(
    directory: Annotated[
        Path | None, typer.Argument(help="Where its settings, log and data go; with --aws a temporary one will do.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="0 takes a free one.", show_default="9083; with --aws a free one")
    ] = None,
    *,
    aws: Annotated[bool, typer.Option("--aws", help="Run Glue, Athena and S3 in place of a metastore.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Keep the database in memory, not on disk.")] = False,
    jar: Annotated[
        list[Path] | None, typer.Option(help="A jar for its class path; may be given more than once.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting for its hive-site.xml.")
    ] = None,
) -> None:
    """Run a real Hive Metastore until Ctrl-C, from the jars that pyspark brings; a JDK is all it needs.

    For trying things out: it has no authentication. With --aws it is Glue, Athena and S3 at one address on loopback,
    which keep everything in memory, so that the targets of those kinds can be tried without an account.
    """
    if aws:
        _run_aws(directory, port or 0)
        return
    if directory is None:
        raise UsageError("embedded needs a directory", "say where its settings, log and data may go")
    overrides = dict(_pair(text) for text in setting or [])
    database: Literal["memory", "disk"] = "memory" if memory else "disk"
    with EmbeddedMetastore(
        directory,
        port=9083 if port is None else port,
        database=database,
        jars=jar or [],
        overrides=overrides,
    ) as metastore:
        say(f"{metastore.uri}  pid {metastore.pid}  log {metastore.log_file}")
        _until_interrupted()


def _run_aws(directory: Path | None, port: int) -> None:
    with EmbeddedAws(directory, port=port) as server:
        variables = "\n".join(f"  export {name}={value}" for name, value in server.environment().items())
        say(f"""{server.url}  pid {server.pid}  log {server.log_file}

In the terminal where pysync runs:
{variables}

In its configuration, a target of the kind "athena" or "glue":
  [[targets]]
  name = "lake"
  kind = "athena"
  region = "{server.region}"
  endpoint_url = "{server.url}"
  staging = "s3://bucket/athena/"
  locations = {{ "hdfs://nn/warehouse" = "s3://bucket/warehouse" }}

It runs until you press Ctrl-C, and forgets everything then.""")
        _until_interrupted()


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--set")
    return key, value
