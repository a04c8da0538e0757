"""`pysync target policy`: a new policy for a target, with its effect shown first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.cli.config_change import DryRun, Edit, Yes
from pysync.cli.output import AsJson, ConfigFile, TargetName, echo, print_json
from pysync.cli.scope_plan import print_scope
from pysync.config import Config
from pysync.config_file.edits import number_of, read
from pysync.config_file.file import FileDraft, drafted
from pysync.config_file.targets import Setting, altered
from pysync.jobs.plans import scope_plans
from pysync.replay.window.repl_policy import parse_policy
from pysync.sidecar.registry import Act

_REPLACE = "replace"


def policy(
    config: ConfigFile,
    target: TargetName,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new policy, in quotes.")],
    former: Annotated[
        list[str] | None, typer.Argument(metavar="replace OLD", help="The policy in pysync.toml, in quotes.")
    ] = None,
    *,
    drop: Annotated[
        bool, typer.Option("--drop-out-of-scope", help="Drop what leaves the policy, whatever out_of_scope says.")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Give a target another policy, in the form of Hive's REPL DUMP. Shows what it puts, keeps and drops first.

    Without `replace`, what leaves the policy is kept or dropped as out_of_scope in pysync.toml says. With `replace
    OLD`, as in Hive, it is dropped, by this change only; if OLD is not the policy in pysync.toml, the command refuses.
    Only objects that this source wrote are dropped, and never their files. The limits for drops hold.
    """
    edit = Edit(config, target, "has its new policy", altered(target, [Setting(("policy",), new)]))
    draft = drafted(config, edit.change)
    is_replaced = _replaces(draft, target, former or [])
    drops = (is_replaced or drop) and draft.after != draft.before
    (plan,) = scope_plans(_wanted(draft.config, target, drops=drops), target)
    if not as_json:
        print_scope(plan)
    if dry_run:
        _show(edit, draft, plan, as_json=as_json)
        return
    if draft.after != draft.before and not yes and not typer.confirm("Apply this?", err=True):
        raise typer.Exit(1)
    edit = Edit(config, target, edit.effect, edit.change, Act(target, drops=True) if drops else None)
    done = edit.run(decided=draft.before)
    if as_json:
        edit.print(done, plan=plan)
    else:
        edit.print_result(done)


def _replaces(draft: FileDraft, target: str, former: list[str]) -> bool:
    """Whether there is `replace OLD`. Raises UsageError where the file has another policy than OLD."""
    if not former:
        return False
    if len(former) != 2 or former[0].lower() != _REPLACE:
        raise UsageError(
            "target policy: this is not replace OLD", "write: pysync target policy NAME 'NEW' replace 'OLD'"
        )
    number = number_of(draft.before, target)
    there = read(draft.before)["targets"][number].get("policy") if number is not None else None
    if there is None or parse_policy(there) != parse_policy(former[1]):
        has = f"has the policy {quoted(there)}" if there else "has no policy"
        raise UsageError(f"target {target} {has}, not {quoted(former[1])}", "nothing was changed")
    return True


def _wanted(config: Config, target: str, *, drops: bool) -> Config:
    """The configuration, with what the change does to the objects that leave. Raises UsageError where it may not."""
    if not drops:
        return config
    settings = next(it for it in config.targets if it.name == target)
    if settings.drops == "suppress":
        raise UsageError(f'target {target} has drops = "suppress", so nothing is dropped', "leave replace out")
    dropping = settings.model_copy(update={"out_of_scope": "drop"})
    return config.model_copy(update={"targets": tuple(dropping if it is settings else it for it in config.targets)})


def _show(edit: Edit, draft: FileDraft, plan: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({"target": edit.target, "diff": draft.diff(), "plan": plan})
        return
    for line in draft.diff():
        echo(line)
