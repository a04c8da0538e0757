"""The plan of `pysync init`: all steps and all problems, known before anything is written."""

from __future__ import annotations

import grp
import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pysync.base.errors import UsageError
from pysync.base.files import Owner, content
from pysync.base.installation import UNIT_NAME
from pysync.base.jars import listener_jar
from pysync.base.rights import is_users
from pysync.config import Config, load_config
from pysync.hive_site import files as hive_site
from pysync.hive_site.document import Document, parse
from pysync.hive_site.merge import LISTENERS, Edited, merge
from pysync.setup import conf_files
from pysync.setup.conf_files import shipped
from pysync.setup.listener import LISTENER, listener_settings
from pysync.setup.record import RECORD_NAME, InstallRecord, read_record
from pysync.setup.steps import DirectoryStep, FileStep, HiveSite, Step, Token

CONFIG = "pysync.toml"
SPOOL = "pysync.spool.dir"

# Such a path needs no quotes in a systemd unit, in hive-site.xml (`${…}`), or in a shell.
_PLAIN = re.compile(r"/[\w./+@,=-]*", re.ASCII)
_LATER = ("hivemetastore-site.xml", "metastore-site.xml")
_MANAGERS = (b"Cloudera Manager", b"Ambari")


@dataclass(frozen=True, slots=True)
class InstallPlaces:
    """Where to install; None: not at all. The directory of the queue is in pysync.toml."""

    config: Path
    spool: Path | None = None  # None: as in hive-site.xml, or else below the directory of the queue
    units: Path | None = None
    hive_site: Path | None = None
    hive_lib: Path | None = None


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """The steps in order. If there are `problems`, no step may be applied."""

    steps: tuple[Step, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    config: Path
    settings: Config  # what pysync.toml says, or will say
    properties: dict[str, str]  # for hive-site.xml; empty without a listener


def plan(places: InstallPlaces, user: str, text: str, executable: Path | None) -> InstallPlan:
    """Plan the set-up of a sidecar that runs as `user`. `text` is for pysync.toml, unless that file exists.

    Writes nothing. Raises UsageError, with a line for each problem, if no plan can be made at all.
    """
    file = places.config / CONFIG
    if problems := first_problems(places, user):
        raise UsageError("\n".join(problems))
    account = pwd.getpwnam(user)
    owner = (account.pw_uid, account.pw_gid)
    by_config = _if_users(file, owner)
    config = _config(file, text)
    default = config.queue.directory.absolute() / "spool"
    by_site = _if_users(places.hive_site, owner)
    spool, listener = _listener(places, config, owner)
    spool = spool or default
    by_spool = None if places.spool else by_config if spool == default else by_site
    made: list[Step] = [
        DirectoryStep(places.config, "configuration directory", 0o755),
        DirectoryStep(config.queue.directory.absolute(), "state directory", 0o700, owner, by_config),
        DirectoryStep(spool, "spool directory", 0o700, owner, by_spool),
        Token(config.bridge.token_file.absolute(), owner, named_by=by_config),
        FileStep(file, "configuration", text.encode()),
        *_unit(places, config, user, executable),
        *listener,
    ]
    record = _record(places, config, user, spool, made)
    steps = (made[0], record, *made[1:])
    # The paths in an existing pysync.toml or hive-site.xml are not checked yet.
    used = (config.queue.directory, config.bridge.token_file, spool)
    problems = [f"{problem}; name another place" for path in used for problem in path_problems(path)]
    problems += [problem for step in steps for problem in step.problems()]
    problems += _unrunnable(executable, owner) if places.units else []
    properties = listener_settings(config, spool) if config.source.capture == "listener" else {}
    return InstallPlan(
        steps, tuple(dict.fromkeys(problems)), tuple(_notes(steps, places, config)), file, config, properties
    )


def merging(settings: dict[str, str], *, spool_is_given: bool) -> partial[Edited]:
    """Return the edit of a hive-site.xml. A spool that the file names is kept, because events may wait there."""
    return partial(_merged, settings=settings, spool_is_given=spool_is_given)


def _merged(document: Document, name: str, *, settings: dict[str, str], spool_is_given: bool) -> Edited:
    spool = document.values().get(SPOOL)
    return merge(document, settings if spool_is_given or not spool else {**settings, SPOOL: spool}, name)


def first_problems(places: InstallPlaces, user: str) -> list[str]:
    """Return the problems of the user and of the paths that were given."""
    return [*user_problems(user), *_problems_of_paths(places)]


def user_problems(user: str) -> Iterator[str]:
    """Yield why pysync cannot be set up for that user."""
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        yield f"this machine has no user {user!r}; name the user that HMS runs as: --user NAME"
        return
    if os.geteuid() not in {0, account.pw_uid}:
        yield f"only root can set up pysync for the user {user}; run the command as root, or as {user}"


def _problems_of_paths(places: InstallPlaces) -> Iterator[str]:
    for path in filter(None, (places.config, places.spool, places.units, places.hive_lib)):
        yield from (f"{problem}; name another place" for problem in path_problems(path))
    if places.hive_lib and not places.hive_lib.is_dir():
        yield f"there is no directory {places.hive_lib}; name the one with the jars of Hive: --hive-lib DIR"


def path_problems(path: Path) -> Iterator[str]:
    """Yield why a path is refused: it has to be absolute, and must not need quotes."""
    if not _PLAIN.fullmatch(str(path)) or ".." in path.parts:
        yield f"{str(path)!r} is not an absolute path of letters, digits and ./_+@,=-"


def _if_users(file: Path | None, owner: Owner) -> Path | None:
    """Return the file if its user could have written it. Raises UsageError if others could have."""
    return file if file and file.exists() and is_users(file, owner) else None


def _config(file: Path, text: str) -> Config:
    if file.exists():
        return load_config(file)
    with tempfile.TemporaryDirectory() as directory:
        draft = Path(directory) / CONFIG
        draft.write_text(text, encoding="utf-8")
        try:
            return load_config(draft)
        except UsageError as error:
            message = re.sub(rf"^{re.escape(str(draft))}:[\d:]* ", "", error.message, flags=re.MULTILINE)
            raise UsageError(message, error.hint) from error


def _listener(places: InstallPlaces, config: Config, owner: Owner) -> tuple[Path | None, list[Step]]:
    """Return the spool that an option or hive-site.xml names, and the steps in HMS."""
    if config.source.capture != "listener":
        return places.spool, []
    steps, spool = list[Step](), places.spool
    if places.hive_site:
        settings = listener_settings(config, spool or config.queue.directory / "spool")
        rewrite = hive_site.plan(places.hive_site, merging(settings, spool_is_given=spool is not None))
        spool = spool or Path(rewrite.edited.values[SPOOL])
        steps.append(HiveSite(rewrite))
    if places.hive_lib:
        jar = listener_jar()
        steps.insert(
            0, FileStep(places.hive_lib / jar.name, "listener jar", jar.read_bytes(), replaces=True, owner=owner)
        )
    return spool, steps


def _unit(places: InstallPlaces, config: Config, user: str, executable: Path | None) -> list[Step]:
    if places.units is None or executable is None:
        return []
    group = _group(user)
    has_spark = any(target.spark_request() for target in config.targets)
    state = config.queue.directory.absolute()
    service = conf_files.Service(executable, places.config / CONFIG, state, user, group, has_spark)
    content = conf_files.unit_text(shipped(UNIT_NAME), service).encode()
    return [FileStep(places.units / UNIT_NAME, "systemd unit", content, otherwise="give --no-systemd")]


def _group(user: str) -> str:
    number = pwd.getpwnam(user).pw_gid
    with suppress(KeyError):
        return grp.getgrgid(number).gr_name
    return str(number)


def _record(places: InstallPlaces, config: Config, user: str, spool: Path, made: Sequence[Step]) -> FileStep:
    """Return the record of what is created. It leaves out what existed before, and pysync.toml, which people edit."""
    files = {
        it.path: it.sum for it in made if isinstance(it, FileStep) and it.path.name != CONFIG and it.state() != "kept"
    }
    record = InstallRecord(
        user=user,
        config=places.config / CONFIG,
        token=config.bridge.token_file.absolute(),
        queue=config.queue.directory.absolute(),
        spool=spool,
        files=files,
        hive_sites=tuple(it.path for it in made if isinstance(it, HiveSite)),
        directories=tuple(it.path for it in made if isinstance(it, DirectoryStep) and it.state() == "create"),
    )
    content = record.after(read_record(places.config)).content()
    return FileStep(places.config / RECORD_NAME, "record for pysync uninstall", content, replaces=True)


def _unrunnable(executable: Path | None, owner: Owner) -> list[str]:
    """Return why the user of the service cannot run pysync: it may be installed in another user's home."""
    if executable is None:
        return ["the command pysync is not installed; pip install dist/pysync-*.whl, or give --no-systemd"]
    problems = [f"{problem}; install pysync elsewhere, or give --no-systemd" for problem in path_problems(executable)]
    try:
        who = {} if os.geteuid() == owner[0] else {"user": owner[0], "group": owner[1], "extra_groups": []}
        done = subprocess.run([executable, "--version"], capture_output=True, check=False, cwd="/", timeout=60, **who)  # type: ignore[call-overload]
        is_well = done.returncode == 0
    except (OSError, subprocess.SubprocessError):
        is_well = False
    python = Path(sys.executable).resolve()
    hint = (
        f"install pysync where that user may read it, by a Python that it may read, too (this one is {python}): "
        "/usr/bin/python3 -m venv /opt/pysync; or give --no-systemd"
    )
    return (
        problems
        if is_well
        else [*problems, f"the user {pwd.getpwuid(owner[0]).pw_name} cannot run {executable}; {hint}"]
    )


def _overruling(site: Path) -> Iterator[str]:
    """Yield a note for each file that HMS reads after hive-site.xml, and whose list of listeners lacks ours."""
    for other in (site.with_name(name) for name in _LATER):
        with suppress(OSError, UsageError):
            values = parse(content(other), str(other)).values()
            key = next((it for it in LISTENERS if it in values), "")
            if LISTENER not in values.get(key, LISTENER):
                yield f"{other} sets {key}, and HMS reads it after {site.name}: add the listener there, too"


def _notes(steps: Sequence[Step], places: InstallPlaces, config: Config) -> Iterator[str]:
    for step in steps:
        if step.state() == "kept":
            yield f"{step.path} exists and differs from what pysync init would write: it is kept"
        if isinstance(step, HiveSite) and any(it in step.rewrite.before for it in _MANAGERS):
            yield f"{step.path} is written by a cluster manager: set the properties there, too, or it removes them"
        if isinstance(step, HiveSite):
            yield from _overruling(step.path)
    if config.source.capture != "listener" and (places.hive_site or places.hive_lib):
        yield "pysync.toml polls the notification log: HMS needs no listener, and is not changed"
