"""`pysync held list|keep|drop` and `pysync kept list|release`: drops that the brake holds, and what people decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError
from pysync.base.health import decide
from pysync.base.text import count, local_time
from pysync.cli.arguments import line
from pysync.cli.asking import ask_or_do
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, TargetName, echo, print_json, print_table
from pysync.model.names import table_of

_MOST = 20
_Objects = Annotated[
    list[str] | None,
    typer.Argument(metavar="OBJECT", parser=line, help="A database, or an object as listed. Default: all of them."),
]


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    held = Family(help="List the drops that a target holds, and decide: keep the objects, or drop them.")
    held.command("list")(list_held)
    held.command()(keep)
    held.command()(drop)
    app.add_typer(held, name="held")
    kept = Family(help="List what a person has kept at a target, or take that back.")
    kept.command("list")(list_kept)
    kept.command()(release)
    app.add_typer(kept, name="kept")


def list_held(config: ConfigFile, target: TargetName, as_json: AsJson = False) -> None:
    """List the objects whose drop the target holds, each with the reason. Other tables go on meanwhile."""
    answer = ask_or_do(config, target, "held list")
    if as_json:
        print_json(answer)
        return
    _print(f"held at {target}", answer["objects"])
    if answer["objects"]:
        echo(decide(target))


def keep(config: ConfigFile, target: TargetName, objects: _Objects = None, as_json: AsJson = False) -> None:
    """Keep objects that the source has dropped.

    The target keeps them until the source creates them again, or until `pysync kept release`, whatever comparison,
    repair or restart comes. To give them back to the source: docs/brake.md.
    """
    answer = ask_or_do(config, target, "held decide", names=objects or [], keep=True)
    _report(answer, f"{target} keeps", as_json=as_json)


def drop(
    config: ConfigFile,
    target: TargetName,
    objects: _Objects = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Drop objects at the target, as the source did. Lists them, and asks for the name of the target."""
    held = _meant(ask_or_do(config, target, "held list")["objects"], objects or [])
    if held and not yes:
        _print(f"to drop at {target}", held)
        if typer.prompt(f"Type {target} to drop them there", err=True) != target:
            raise PysyncError("nothing was dropped: this is not the name of the target", decide(target))
    answer = ask_or_do(config, target, "held decide", names=objects or [], keep=False, seen=len(held))
    _report(answer, f"{target} drops", as_json=as_json)


def list_kept(config: ConfigFile, target: TargetName, as_json: AsJson = False) -> None:
    """List the objects that a person has kept at the target although the source has dropped them."""
    answer = ask_or_do(config, target, "kept list")
    if as_json:
        print_json(answer)
    else:
        _print(f"kept at {target}", answer["objects"])


def release(config: ConfigFile, target: TargetName, objects: _Objects = None, as_json: AsJson = False) -> None:
    """Take back that objects are kept. The next comparison finds that the source does not have them, and drops them.

    If they are too many, their drop is held again. For a comparison of some of them at once: pysync refresh DB.TABLE.
    """
    answer = ask_or_do(config, target, "kept release", names=objects or [])
    _report(answer, f"{target} no longer keeps", as_json=as_json)


def _meant(held: Sequence[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Those of the objects that the names mean: objects, tables or databases."""
    wanted = set(names)
    return [it for it in held if not wanted or not wanted.isdisjoint(_names_of(it["object"]))]


def _names_of(name: str) -> set[str]:
    """The names that mean an object: its own, and those of its table and database."""
    return {name, table_of(name), name.partition(".")[0]}


def _print(title: str, objects: Sequence[dict[str, Any]]) -> None:
    rows = [(it["object"], it["kind"], it["count"], local_time(it["at"]), it["reason"]) for it in objects]
    print_table(title, ("object", "kind", "count", "since", "reason"), rows)


def _report(answer: dict[str, Any], what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    names = [it["object"] for it in answer["objects"]]
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    echo(f"{what} {count(len(names), 'object')}: {', '.join(names[:_MOST])}{more}")
