"""`pysync init`: create everything that a sidecar needs on the host of HMS."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import content
from pysync.base.installation import UNITS
from pysync.cli.arguments import absolute_path, number, path
from pysync.cli.init_questions import Asker, is_terminal
from pysync.cli.output import DEFAULT_CONFIG, AsJson, echo, print_changes, print_json, print_table
from pysync.hive_site import to_xml
from pysync.setup.agent_config import agent_config, read_agent
from pysync.setup.conf_files import shipped
from pysync.setup.config_text import config_text
from pysync.setup.ignored_options import ignored
from pysync.setup.plan import CONFIG, InstallPlaces, InstallPlan, first_problems, plan
from pysync.setup.questions import KINDS, Question, config_values
from pysync.setup.record import read_record
from pysync.setup.steps import FileStep, HiveSite, State

_STATE = Path("/var/lib/pysync")
_PORT = 25333
_OF_AGENT = {"target_kind": "", "target_name": "", "location": ""}
"""Questions that nobody is asked where the target is the agent's."""
_DONE: Mapping[State, str] = {"create": "created", "change": "changed", "unchanged": "unchanged", "kept": "kept"}

Text = str | None
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done. Change nothing.")]
ConfigDir = Annotated[
    Path, typer.Option(metavar="DIR", parser=absolute_path, help="Directory of pysync.toml and the token.")
]
User = Annotated[Text, typer.Option(metavar="USER", help="User that HMS runs as. Default: hive.")]
SourceName = Annotated[Text, typer.Option(metavar="NAME", help="Name of this cluster. Choose it once.")]
SourceMetastore = Annotated[
    Text, typer.Option(metavar="ADDRESS", help="Address of the source. Default: thrift://localhost:9083.")
]
Kind = Annotated[Text, typer.Option(metavar="|".join(KINDS), help="Kind of target.")]
TargetName = Annotated[Text, typer.Option(metavar="NAME", help="Name of the target. Default: by its kind.")]
TargetMetastore = Annotated[Text, typer.Option(metavar="ADDRESS", help="Address of the target (hms, spark).")]
Region = Annotated[Text, typer.Option(metavar="REGION", help="AWS region (glue, athena). Default: AWS_REGION.")]
WorkGroup = Annotated[Text, typer.Option(metavar="NAME", help="Athena work group (athena). Default: primary.")]
Staging = Annotated[
    Text,
    typer.Option(metavar="S3", help="Location for query results (athena). Required without --work-group."),
]
Locations = Annotated[
    list[str] | None,
    typer.Option("--location", metavar="SOURCE=TARGET", help="Location prefix at source and target. Repeatable."),
]
FromAgent = Annotated[
    Path | None,
    typer.Option(
        "--from-agent",
        metavar="FILE",
        parser=path,
        help="Take the target from AWS's Glue sync agent, whose settings are in this hive-site.xml.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        parser=number(1, 65535),
        help=f"Port on 127.0.0.1 that the listener calls. Default: {_PORT}.",
    ),
]
HiveSiteFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", parser=path, help="Add the listener to this hive-site.xml. A backup is kept."),
]
HiveLib = Annotated[
    Path | None, typer.Option(metavar="DIR", parser=path, help="Copy the listener jar to this directory.")
]
StateDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", parser=absolute_path, help=f"Directory of the queue, on a local disk. Default: {_STATE}."
    ),
]
SpoolDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", parser=absolute_path, help="Directory of the listener's spool. Default: STATE_DIR/spool."
    ),
]
UnitDir = Annotated[Path, typer.Option(metavar="DIR", parser=absolute_path, help="Directory for the systemd unit.")]
NoSystemd = Annotated[bool, typer.Option("--no-systemd", help="Write no systemd unit.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without showing it first and asking.")]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(init)


def init(
    *,
    user: User = None,
    source_name: SourceName = None,
    source_metastore: SourceMetastore = None,
    target_kind: Kind = None,
    target_name: TargetName = None,
    target_metastore: TargetMetastore = None,
    region: Region = None,
    work_group: WorkGroup = None,
    staging: Staging = None,
    location: Locations = None,
    from_agent: FromAgent = None,
    bridge_port: Port = None,
    merge_hive_site: HiveSiteFile = None,
    hive_lib: HiveLib = None,
    config_dir: ConfigDir = DEFAULT_CONFIG.parent,
    state_dir: StateDir = None,
    spool_dir: SpoolDir = None,
    unit_dir: UnitDir = UNITS,
    no_systemd: NoSystemd = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Create the directories, token, pysync.toml and service of a sidecar, and add the listener to HMS.

    On a terminal the command asks for what no option says, and shows what it will do before it does that. Without a
    terminal it takes the defaults, and names the options that are missing. Run it on the host of HMS, as root or as the
    user of HMS.

    Nothing that exists is overwritten: a token, a pysync.toml or a unit that differs is kept. If pysync.toml exists,
    its settings are used, and the output names the options that differ from it. In hive-site.xml only the properties of
    pysync and the list of listeners change. A second run changes nothing. pysync uninstall undoes it.
    """
    asker = Asker(read_record(config_dir), [])
    user = asker.user(user)
    options = {"source_name": source_name, "source_metastore": source_metastore, "target_kind": target_kind}
    options |= {"target_name": target_name, "target_metastore": target_metastore, "region": region}
    options |= {"work_group": work_group, "staging": staging}
    given = {key: value for key, value in options.items() if value is not None}
    asker.check(given)
    prefixes = asker.prefixes(location or [])
    asker.problems.extend(_beside_agent(given, prefixes) if from_agent else ())
    site, lib = asker.hive_site(merge_hive_site, from_agent), asker.hive_lib(hive_lib)
    text = _text(asker, config_dir, given, prefixes, from_agent, port=bridge_port, state=state_dir)
    units = unit_dir if unit_dir.is_dir() and not no_systemd else None
    places = InstallPlaces(config_dir, spool_dir, units, site, lib)
    if problems := dict.fromkeys([*asker.problems, *first_problems(places, user)]):
        raise UsageError("\n".join(problems))
    executable = _executable()
    steps = plan(places, user, text, executable)
    if steps.problems:
        raise UsageError("\n".join(steps.problems))
    flags = ignored(steps.settings, given, prefixes, port=bridge_port, state=state_dir)
    steps = replace(steps, notes=(*steps.notes, *_option_notes(steps.config, text, flags, from_agent)))
    asks = is_terminal() and not (dry_run or yes or as_json)
    _do(steps, list(_next(steps, places, user, executable)), dry_run=dry_run, asks=asks, as_json=as_json)


def _text(
    asker: Asker,
    directory: Path,
    given: Mapping[str, str],
    prefixes: Mapping[str, str],
    from_agent: Path | None,
    *,
    port: int | None,
    state: Path | None,
) -> str:
    """Return the text for pysync.toml: that of the existing file, or a new one from options, answers and the agent."""
    file = directory / CONFIG
    if file.exists():
        try:
            return content(file).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return ""  # loading the file reports the problem
    agent = read_agent(from_agent) if from_agent else None
    known = _OF_AGENT if agent else {"location": ""} if prefixes else {}
    answers = asker.answers({**given, **known}, {"source_metastore": agent.metastore} if agent else {})
    answered = asker.prefixes([answers["location"]] if answers.get("location") else [])
    if asker.problems:
        return ""
    values = config_values(
        answers, {**prefixes, **answered}, token=directory / "token", port=port or _PORT, state=state or _STATE
    )
    if agent and from_agent:
        return agent_config(agent, from_agent.name, values.sections)
    return config_text(shipped(CONFIG), values)


def _beside_agent(given: Mapping[str, str], prefixes: Mapping[str, str]) -> list[str]:
    """The options that cannot be given where the target is the agent's."""
    flags = [Question(key, "").flag for key in given if not key.startswith("source_")]
    flags += ["--location"] if prefixes else []
    return [f"--from-agent and {it} exclude each other" for it in flags]


def _option_notes(file: Path, text: str, ignored_flags: list[str], from_agent: Path | None) -> Iterator[str]:
    """What became of the options, where `text` is that of pysync.toml."""
    is_agents = "--from-agent" in text.partition("\n")[0]
    flags = [*ignored_flags, *(["--from-agent"] if from_agent and not is_agents else [])]
    if flags:
        named = ", ".join(flags)
        yield f"{file} exists, so its settings are used and these options are ignored: {named}; edit the file"
    elif from_agent:
        yield f"the first lines of {file} say what differs from the agent: read them before the first start"


def _executable() -> Path | None:
    """Return the command `pysync` of this installation, or None if there is none."""
    beside = Path(sys.executable).with_name("pysync")
    executable = str(beside) if beside.exists() else shutil.which("pysync")
    return Path(executable).absolute() if executable else None


def _do(steps: InstallPlan, next_: list[str], *, dry_run: bool, asks: bool, as_json: bool) -> None:
    states: list[State] = [step.state() for step in steps.steps]
    asks = asks and _changes(states)
    if asks:
        _print_steps("pysync init: what it will do", steps, {it: it for it in states}, states)
        if not typer.confirm("\nDo this?", err=True):
            echo("nothing was changed")
            raise typer.Exit(1)
    for step in steps.steps if not dry_run else ():
        try:
            step.apply()
        except OSError as error:
            message = f"cannot write {step.path}: {error.strerror}"
            raise PysyncError(message, "remove the cause and run the same command again") from error
    if as_json:
        print_json(_as_json(steps, states, next_, dry_run=dry_run))
        return
    if asks:
        echo("done")
    elif dry_run:
        _print_steps("pysync init, dry run: nothing is written", steps, {it: it for it in states}, states)
        _print_contents(steps)
    else:
        _print_steps("pysync init", steps, _DONE, states)
    _print_rest(steps, next_)


def _as_json(planned: InstallPlan, states: list[State], next_: list[str], *, dry_run: bool) -> dict[str, Any]:
    steps = [
        {"what": step.what, "path": str(step.path), "state": state}
        for step, state in zip(planned.steps, states, strict=True)
    ]
    return {
        "dry_run": dry_run,
        "changed": _changes(states),
        "steps": steps,
        "hive_site": planned.properties,
        "notes": list(planned.notes),
        "next": next_,
    }


def _changes(states: list[State]) -> bool:
    return any(state in {"create", "change"} for state in states)


def _print_steps(title: str, steps: InstallPlan, words: Mapping[State, str], states: list[State]) -> None:
    rows = [(words[state], step.what, step.path) for step, state in zip(steps.steps, states, strict=True)]
    print_table(title, ("", "what", "path"), rows)
    if not _changes(states):
        echo("nothing to do: everything exists already")
    for step in steps.steps:
        if isinstance(step, HiveSite):
            print_changes(step.path, step.rewrite.changes)
    for note in steps.notes:
        echo(f"note: {note}")


def _print_contents(steps: InstallPlan) -> None:
    """The files that would be made, but for the jar."""
    for step in steps.steps:
        if isinstance(step, FileStep) and step.path.name != "pysync-listener.jar" and step.state() == "create":
            echo(f"\n--- {step.path}\n{step.content.decode()}")


def _print_rest(steps: InstallPlan, next_: list[str]) -> None:
    """What is left for a person to do."""
    if steps.properties and not any(isinstance(step, HiveSite) for step in steps.steps):
        echo(f"\nhive-site.xml of HMS needs these properties:\n\n{to_xml(steps.properties)}")
    echo("\nNext:\n")
    for line in next_:
        echo(f"  {line}")


def _next(steps: InstallPlan, places: InstallPlaces, user: str, executable: Path | None) -> Iterator[str]:
    """Yield the next steps of a person, as shell commands."""
    pysync = shlex.quote(str(executable or "pysync"))
    if pwd.getpwnam(user).pw_uid != os.geteuid():
        pysync = f"runuser -u {shlex.quote(user)} -- {pysync}"
    config = "" if steps.config == DEFAULT_CONFIG else f" -c {shlex.quote(str(steps.config))}"
    yield f"{pysync} check{config}"
    if places.units == UNITS:
        yield "systemctl daemon-reload && systemctl enable --now pysync"
    else:
        yield f"{pysync} run{config} &"
    if steps.properties:
        if not places.hive_lib:
            yield f'cp "$({pysync} jar)" "$HIVE_HOME/lib/"'
        if not places.hive_site:
            yield "# put the properties above into the hive-site.xml of HMS"
        yield "systemctl restart hive-metastore    # or as HMS is restarted on this host"
    yield f"{pysync} status{config}"
