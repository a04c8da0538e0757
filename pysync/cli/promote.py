"""`pysync promote`: a target takes the place of its source."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base import logs
from pysync.base.text import count
from pysync.cli.arguments import path, period
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import AsJson, ConfigFile, TargetName, echo, print_json, print_table, progress_bar, write_private
from pysync.jobs.promoting import HandedOver, Promotion
from pysync.verify.compare import ComparedObject
from pysync.verify.report import difference

_MOST = 20

_Out = Annotated[
    Path,
    typer.Option("--out", metavar="FILE", parser=path, help="Write the configuration of the way back to this file."),
]
_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask whether all changes at the source have stopped.")]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(promote)


def promote(
    config: ConfigFile,
    target: TargetName,
    *,
    out: _Out,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="TIME", parser=period, show_default="10m", help="How long to wait for events."
        ),
    ] = 600.0,
    yes: _Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make a target the source, and the source its target: a planned failover. The way back is the same command there.

    First stop all changes at the source. The command waits until the target has everything, disables the target,
    compares both ends, and, if nothing differs, moves the marks: objects of the source get the mark of the target's
    cluster, those of the target lose theirs. If anything differs, it enables the target again and changes no mark.

    FILE is the pysync.toml for a sidecar beside the new source. The command may run again after it was killed, and
    completes what is left. Runbook: docs/operating.md. Exit code 1 if the ends differ, the target holds drops, or an
    event still waits.
    """
    logs.configure("error", "console")
    promotion = Promotion.of(config, target)
    assert_ends_answer(promotion.config, [promotion.settings])
    if dry_run:
        with progress_bar() as on_progress:
            drift, handed = promotion.differences(on_progress), promotion.hand_over(on_progress, dry_run=True)
        _print(promotion, out, drift, handed, is_done=False, as_json=as_json)
        if drift:
            raise typer.Exit(1)
        return
    question = f"{target} takes the place of {promotion.config.source.name}. Have all changes there stopped? Continue?"
    if not yes and not typer.confirm(question, err=True):
        raise typer.Exit(1)
    with ExitStack() as refusal, progress_bar() as on_progress:
        if not out.exists():
            refusal.callback(out.unlink, missing_ok=True)
        write_private(out, promotion.reversed_text.encode(), "--out", overwrites=False)
        promotion.drain(timeout, on_progress)
        promotion.stop_replication()
        drift = promotion.differences(on_progress)
        if drift and promotion.settings.enabled:
            promotion.resume_replication()
        if not drift:
            refusal.pop_all()  # from here on objects change sides
        handed = promotion.hand_over(on_progress, dry_run=bool(drift))
    _print(promotion, out, drift, handed, is_done=not drift, as_json=as_json)
    if drift or handed.refused:
        raise typer.Exit(1)


def _print(
    promotion: Promotion, out: Path, drift: list[ComparedObject], handed: HandedOver, *, is_done: bool, as_json: bool
) -> None:
    source, target = promotion.config.source.name, promotion.settings.name
    if as_json:
        fields: dict[str, Any] = {"source": source, "target": target, "promoted": is_done, **asdict(handed)}
        print_json({**fields, "differences": list(map(difference, drift)), "configuration": promotion.reversed_text})
        return
    if drift:
        rows = [(it.kind, it.name, it.result, "\n".join(it.fields)) for it in drift[:_MOST]]
        print_table(f"{source} and {target} differ", ("kind", "name", "result", "difference"), rows)
        echo(f"{count(len(drift), 'object')} differ: {target} is not promoted; see: pysync verify --target {target}")
        return
    objects = f"{count(handed.databases, 'database')} and {count(handed.tables, 'table')}"
    if handed.of_others:
        echo(f"{count(handed.of_others, 'object')} of {source} came from other clusters, and stay as they are")
    if not is_done:
        echo(f"nothing differs; {objects} would change sides. The configuration of the way back:")
        for line in promotion.reversed_text.splitlines():
            echo(f"  {line}".rstrip())
        return
    for line in handed.refused:
        echo(f"not changed: {line}")
    echo(f"{target} is promoted: {objects} changed sides; target {target} is disabled")
    echo(
        f"next, beside {target}: install {out} as pysync.toml, then: pysync check; pysync bootstrap; start the sidecar"
    )
