"""`pysync target policy`, and what commands that change pysync.toml have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pysync.base import logs
from pysync.base.errors import UsageError
from pysync.base.text import count, quoted
from pysync.cli.output import (
    MOST_NAMES,
    AsJson,
    ConfigFile,
    TargetName,
    assert_target,
    echo,
    name_rows,
    print_json,
    print_lacks,
    print_table,
    progress,
)
from pysync.config import Config, load_config
from pysync.config_file.edits import Key, number_of, read
from pysync.config_file.file import Change, Draft, drafted
from pysync.config_file.targets import Setting, altered, key_of, setting_of
from pysync.jobs.configuration import Done, reconfigure
from pysync.jobs.plans import scope_plans
from pysync.replay.window.repl_policy import parse_policy
from pysync.sidecar.registry import Act

# --- What commands that change pysync.toml have in common: they make the change or show it, and say what came of it


DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show how the file would change.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the file; `effect` completes the sentence `target NAME …`; `act` is what it means for the queue."""

    config: Path
    target: str
    effect: str
    change: Change
    act: Act | None = None

    def run(self, decided: str | None = None) -> Done:
        """Make the change; raises what `reconfigure` raises."""
        logs.configure("error", "console")
        why = f"target {self.target} {self.effect}"
        with progress("waiting for the sidecar") as on_progress:
            return reconfigure(
                self.config, self.change, act=self.act, decided=decided, why=why, on_progress=on_progress
            )

    def show(self, *, as_json: bool) -> None:
        """Print how the file would change. Raises UsageError with the problems of the result."""
        lines = drafted(self.config, self.change).diff()
        if as_json:
            print_json({"target": self.target, "diff": lines})
            return
        for line in lines or [f"{self.config} would not change"]:
            echo(line)

    def print(self, done: Done, **more: Any) -> None:
        """Print what came of it as JSON, with `more`."""
        taken = None if done.taken is None else list(done.taken)
        fields = {"target": self.target, "written": done.written, "changes": taken, "diff": done.draft.diff()}
        print_json({**fields, **more})

    def print_result(self, done: Done) -> None:
        """Say what came of it."""
        if not done.written and not done.taken:
            echo(f"target {self.target} is as it should be; nothing was changed")
            return
        after = "; no sidecar runs: it counts from the next start on" if done.taken is None else ""
        echo(f"target {self.target} {self.effect}{after}")


def change_or_show(edit: Edit, *, dry_run: bool, as_json: bool) -> None:
    """Make a change that nobody has to be asked about, or show it."""
    if dry_run:
        edit.show(as_json=as_json)
        return
    done = edit.run()
    if as_json:
        edit.print(done)
    else:
        edit.print_result(done)


def setting(value: Any) -> Setting:
    """A setting of a target, written KEY=VALUE."""
    try:
        return setting_of(str(value))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None


class Unset(NamedTuple):
    """A key of a target that is to be removed."""

    key: Key


def key(value: Any) -> Unset:
    """A key of a target."""
    try:
        return Unset(key_of(str(value)))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None


# --- `pysync plan --scope`: what a change of scope would put, keep and drop


def show_scope(config: Path, target: str | None, *, as_json: bool) -> None:
    """Print what the scopes in `config` come to. Raises as `scope_plans`, and UsageError for an unknown target."""
    loaded = load_config(config)
    logs.configure("error", loaded.log.format)
    assert_target(config, target, [it.name for it in loaded.targets])
    plans = scope_plans(loaded, target)
    if as_json:
        print_json({"targets": plans})
        return
    for plan in plans:
        print_scope(plan)


def print_scope(plan: dict[str, Any]) -> None:
    """Print what one target would put, keep and drop."""
    name = plan["target"]
    if plan["is_new"]:
        echo(
            f"{name} is a new target: the sidecar compares it with the source and puts "
            f"{count(len(plan['put']), 'object')}"
        )
        print_lacks(plan)
    elif not plan["changes"]:
        echo(f"{name}: its scope has not changed")
    for line in plan["changes"]:
        echo(f"{name}: {line}")
    for line in plan["collide"][:MOST_NAMES]:
        echo(f"{name}: one name for several tables: {line}; only the first that comes gets it")
    rows = [row for what in ("put", "keep", "drop") for row in name_rows(what, plan[what])]
    if rows and (plan["changes"] or plan["is_new"]):
        print_table(f"scope of {name}", ("", "database or table"), rows)
        parts = [f"{len(plan[what])} to {what}" for what in ("put", "keep", "drop")]
        limit = plan["max_drops_per_window"] or "none"
        echo(
            f"{name}: {', '.join(parts)}, {plan['compare']} to compare; {count(plan['drops'], 'drop')} (limit: {limit})"
        )


# --- `pysync target policy`: a new policy for a target, with its effect shown first

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


def _replaces(draft: Draft, target: str, former: list[str]) -> bool:
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


def _show(edit: Edit, draft: Draft, plan: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({"target": edit.target, "diff": draft.diff(), "plan": plan})
        return
    for line in draft.diff():
        echo(line)
