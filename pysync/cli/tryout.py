"""`pysync demo`, `embedded`: trying pysync out on real servers, without a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from pysync.base.errors import UsageError
from pysync.base.files import content
from pysync.base.installation import install_extra
from pysync.base.text import count
from pysync.cli.arguments import KeyValue, choice, number, path
from pysync.cli.arguments import setting as parsed_setting
from pysync.cli.output import AsJson, echo, print_json, print_table
from pysync.hive_site.document import parse
from pysync.sidecar.shutdown import Shutdown
from pysync.verify.compare import EQUAL

if TYPE_CHECKING:  # an extra: `pysync --help` and `man` work without it
    from pysync.lab.demo.show import Result
    from pysync.lab.demo.stage import Stage

_PACKAGES = {"embedded": ("pyspark",), "embedded-aws": ("flask", "moto", "pyspark")}
"""What to look for to know whether an extra is installed."""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(demo)
    app.command()(embedded)


def demo(
    target: Annotated[
        Literal["hms", "spark", "glue", "athena"],
        typer.Option(
            parser=choice("hms", "spark", "glue", "athena"),
            help="Kind of the target: a second metastore (reached by thrift, or only by Spark), or Glue.",
        ),
    ] = "hms",
    *,
    copy: Annotated[
        bool, typer.Option("--copy", help="Also copy the data, and compare the rows at both ends.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep everything running until Ctrl-C, for experiments.")
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option(metavar="DIRECTORY", parser=path, help="Empty directory to work in. Default: a temporary one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a replication between real servers: two metastores, Spark, and a sidecar that is killed half-way.

    Spark SQL creates and changes databases, tables, partitions, views and functions at the first metastore. The second
    metastore must then have the same objects: exit code 0 if it has, 1 if not. The demo takes a minute or two, and
    needs a JDK and pyspark.

    With --target spark the sidecar reaches the second metastore only through the catalog of a Spark session.
    With --target glue or athena the target is a Glue Data Catalog on this machine; no AWS account is needed.
    With --copy the data files are copied, too: a Spark session that knows only the second metastore reads the rows.
    """
    _assert_installed("pysync demo", "embedded-aws" if target in {"glue", "athena"} else "embedded")
    from pysync.lab.demo.lake import Lake  # noqa: PLC0415
    from pysync.lab.demo.show import Show  # noqa: PLC0415
    from pysync.lab.demo.stage import Stage  # noqa: PLC0415

    if copy and target not in {"hms", "spark"}:
        raise UsageError(f"--copy does not work with --target {target}", "leave --target out, or give --target spark")
    with ExitStack() as stack:
        place = directory or Path(stack.enter_context(TemporaryDirectory(prefix="pysync-demo-")))
        place.mkdir(parents=True, exist_ok=True)
        lake = Lake(place.absolute() / "aws", target) if target in {"glue", "athena"} else None
        options = "copy = true\n" if copy else ""
        stage = stack.enter_context(Stage(place.absolute(), lake=lake, options=options, by_spark=target == "spark"))
        progress = stack.enter_context(Console(stderr=True).status("starting"))
        result = Show(stage, progress.update).run()
        progress.stop()
        _print_demo(result, as_json)
        if keep:
            _keep(stage)
    if not result.equal:
        raise typer.Exit(1)


def _assert_installed(command: str, extra: str) -> None:
    """Raises UsageError without the extra."""
    if any(find_spec(name) is None for name in _PACKAGES[extra]):
        raise UsageError(f"{command} needs packages that are not installed", install_extra(extra))


def _print_demo(result: Result, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(result), "equal": result.equal})
        return
    print_table(
        "steps",
        ("step", "statements", "seconds"),
        [(step.title, step.statements or None, f"{step.seconds:.2f}") for step in result.steps],
    )
    print_table(
        "comparison of source and target",
        ("kind", "name", "partitions", "result"),
        [
            (item.kind, item.name, item.parts or None, "\n".join((item.result, *item.fields)))
            for item in result.compared
        ],
    )
    if result.rows:
        print_table(
            "rows, read by a Spark session at each end",
            ("table", "source", "target", "result"),
            [(it.table, it.source, it.target, EQUAL if it.equal else "different") for it in result.rows],
        )
    equal = sum(item.result == EQUAL for item in result.compared)
    seconds = sum(step.seconds for step in result.steps)
    echo(f"{equal} of {count(len(result.compared), 'object')} equal, after {seconds:.0f} s")


def _keep(stage: Stage) -> None:
    _until_interrupted(f"""
Everything runs until you press Ctrl-C. In another terminal:
  pysync status -c {stage.config_file}
  pyspark --conf spark.sql.catalogImplementation=hive --conf spark.hadoop.hive.metastore.uris={stage.source.uri} \\
          --conf spark.sql.warehouse.dir=file:{stage.source.warehouse}
  {_inspection_hint(stage)}""")


def _inspection_hint(stage: Stage) -> str:
    """How to look at the target."""
    if stage.lake is None:
        return f"and the same with {stage.target.uri} for the target"
    variables = " ".join(f"{name}={value}" for name, value in stage.lake.aws.environment().items())
    return f"{variables} aws glue get-tables --database-name shop"


def _until_interrupted(text: str) -> None:
    """Print the text once a signal ends this in order, and then wait for one."""
    ending = Shutdown()
    ending.on_signals()
    echo(text)
    while not ending.is_requested():
        pass


def embedded(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIRECTORY", parser=path, help="Directory for settings, log and data. Optional with --aws."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            parser=number(0, 65535),
            help="Port to listen on; 0 takes a free port. Default: 9083, with --aws a free port.",
        ),
    ] = None,
    *,
    aws: Annotated[
        bool, typer.Option("--aws", help="Run an embedded Glue, Athena and S3 instead of a metastore.")
    ] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Keep the database in memory, not on disk.")] = False,
    jar: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", parser=path, help="Jar for the class path of the metastore. May be repeated."),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--hive-site", metavar="FILE", parser=path, help="File with properties, such as pysync hive-site prints."
        ),
    ] = None,
    setting: Annotated[
        list[KeyValue] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", parser=parsed_setting, help="Property for hive-site.xml. May be repeated."
        ),
    ] = None,
) -> None:
    """Run a real Hive Metastore until Ctrl-C, from the jars of pyspark. It needs a JDK.

    Use it for tests only: it has no authentication. With --aws the command runs Glue, Athena and S3 at one loopback
    address instead. They keep everything in memory, and targets of kind glue and athena can be tried without an AWS
    account.
    """
    _assert_installed("pysync embedded", "embedded-aws" if aws else "embedded")
    if aws:
        _run_aws(directory, port or 0)
        return
    from pysync.lab import EmbeddedMetastore  # noqa: PLC0415

    if directory is None:
        raise UsageError("the embedded metastore needs a directory", "name a DIRECTORY for its settings, log and data")
    database: Literal["memory", "disk"] = "memory" if memory else "disk"
    with EmbeddedMetastore(
        directory,
        port=9083 if port is None else port,
        database=database,
        jars=jar or [],
        overrides={**_properties(site), **dict(setting or [])},
    ) as metastore:
        _until_interrupted(f"{metastore.uri}  pid {metastore.pid}  log {metastore.log_file}")


def _run_aws(directory: Path | None, port: int) -> None:
    from pysync.lab.aws import EmbeddedAws  # noqa: PLC0415

    with EmbeddedAws(directory, port=port) as server:
        variables = "\n".join(f"  export {name}={value}" for name, value in server.environment().items())
        _until_interrupted(f"""{server.url}  pid {server.pid}  log {server.log_file}

In the terminal where pysync runs:
{variables}

In pysync.toml, a target of kind "athena" or "glue":
  [[targets]]
  name = "lake"
  kind = "athena"
  region = "{server.region}"
  endpoint_url = "{server.url}"
  staging = "s3://bucket/athena/"
  locations = {{ "hdfs://nn/warehouse" = "s3://bucket/warehouse" }}

It runs until you press Ctrl-C. Then all its data is gone.""")


def _properties(site: Path | None) -> dict[str, str]:
    try:
        return parse(content(site), str(site)).values() if site else {}
    except OSError as error:
        raise UsageError(f"cannot read {site}: {error.strerror}") from error
