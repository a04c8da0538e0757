"""Dumping: everything in scope of a living source, written down in a directory (docs/dump.md)."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from thrift.Thrift import TException

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import nearest
from pysync.config import Config
from pysync.dump.data import last_page
from pysync.dump.index import FILES, KIND, SUFFIX, Dump, indexed
from pysync.dump.manifest import DumpCounts, Manifest, Within, needs_definitions, scope_of
from pysync.dump.pieces import Pieces, opened, read_piece
from pysync.dump.read import DumpReader
from pysync.dump.record import HEAD
from pysync.dump.replies import ReplyRecorder
from pysync.dump.write import DumpSelection, Writing, changes_since, newest, newest_within, touched_tables
from pysync.jobs.dump_carrying import Into
from pysync.jobs.dump_listing import Lister, listing
from pysync.metastore.access import MetastoreRef
from pysync.metastore.errors import MetastoreError
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.replay.window.repl_policy import parse_policy

_PATTERN = re.compile("[*?]")

OnProgress = Callable[[str, DumpCounts, int], None]
"""Called with the current object, what is done, and how many tables there are."""


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """What is to be dumped: `within` (None: what the targets of the configuration take).

    `since`, `to` and `limit` are about notifications: with `since` only what they touched is dumped, and what is not in
    `former`, the scope in place of which this one comes. `limit` counts those about what is to be dumped.
    Data files are taken only below the prefixes `data_under` (none: those that the targets map, keys of `locations`).
    """

    within: Within | None = None
    since: int | None = None
    to: int | None = None
    limit: int | None = None
    files: Literal["copy", "list", "none"] = "none"
    former: Within | None = None
    data_under: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises UsageError for what makes no sense."""
        if self.since is None and (self.to is not None or self.limit is not None):
            raise UsageError("--to and --limit need --from", "give --from the notification to begin after")
        if self.to is not None and self.since is not None and self.to < self.since:
            raise UsageError(f"--to {self.to} is before --from {self.since}", "exchange the two values")
        if self.data_under and self.files != "copy":
            raise UsageError("--data-under needs --files copy", "give both, or neither")
        if self.former is not None and _database(self.within) is None:
            raise UsageError("--replace needs --policy", "give the new policy, too")
        if self.former is not None and _database(self.within) != _database(self.former):
            raise UsageError("a policy can only replace one of the same database", "make a full dump of the new policy")


def _database(within: Within | None) -> str | None:
    """The database of a policy; None without a policy."""
    if within is None or within.policy is None:
        return None
    return parse_policy(within.policy).database.lower()


def dump_once(config: Config, directory: Path, wanted: DumpRequest, on_progress: OnProgress) -> Manifest:
    """Dump into a directory that is empty or not there, or go on with a dump there that was not finished.

    Raises UsageError for a directory with something else and for a name that the source does not have, PysyncError for
    a source that cannot be read, Unavailable and Rejected for data files that cannot be: what is done by then is kept.
    """
    wanted.check()
    where = known(config.source_access())
    within = _within(config, wanted.within)
    with ExitStack() as stack:
        source = stack.enter_context(_reading(where))
        _assert_exists(source, wanted)
        pieces = stack.enter_context(opened(directory, _new_manifest(config, wanted, within, source)))
        dump = indexed(directory, pieces.manifest)
        selection = _selection(source, pieces.manifest)
        # For progress alone: the dump lists them again.
        total = sum(1 for _ in _names(source, selection))
        writing = Writing(source, selection, dump.last, pieces.manifest.counts)
        pieces.write(KIND, SUFFIX, HEAD, writing.parts(lambda name, counts: on_progress(name, counts, total)))
        _add_files(config, wanted, pieces, lambda name: on_progress(f"files of {name}", writing.counts, total))
        upto = pieces.manifest.upto
        changed = None if upto is None else changes_since(source, selection.scope, upto)
        pieces.finish(pieces.manifest.model_copy(update={"finished_at": time.time(), "changed": changed}))
    return pieces.manifest


def _assert_exists(source: ReplyRecorder, wanted: DumpRequest) -> None:
    """Raises UsageError where the source has nothing of the name in the policy, so that no misspelt one passes.

    With `since` it may be gone, if the notifications since then name it: the load has to drop it. A name that is a
    pattern may have nothing yet.
    """
    if wanted.within is None or wanted.within.policy is None:
        return
    policy = parse_policy(wanted.within.policy)
    if _PATTERN.search(f"{policy.database}{policy.table or ''}"):
        return
    database, kind = policy.database.lower(), "database"
    name, known = database, source.databases()
    if policy.table is not None and database in known:
        kind, name = "table", f"{database}.{policy.table.lower()}"
        known = [f"{database}.{it}" for it in source.tables(database)]
    if name in known:
        return
    if wanted.since is None or not changes_since(source, scope_of([wanted.within]), wanted.since):
        near = nearest(name, known)
        raise UsageError(f"the source has no {kind} {name}", near and f"did you mean {near}?")


def _within(config: Config, within: Within | None) -> tuple[Within, ...]:
    if within is not None:
        return (within,)
    each = [settings for target in config.targets for _, settings in target.each_policy()]
    policies = [Within(policy=it.policy, include=it.include, exclude=it.exclude) for it in each]
    return tuple(dict.fromkeys(policies))


def _data_under(config: Config, wanted: DumpRequest) -> tuple[str, ...]:
    """The prefixes below which data files are taken. Raises UsageError if there are none."""
    if wanted.files != "copy":
        return ()
    each = [settings for target in config.targets for _, settings in target.each_policy()]
    prefixes = wanted.data_under or tuple(dict.fromkeys(prefix for it in each for prefix in it.locations))
    if not prefixes:
        raise UsageError(
            "it is not known which directories of the source have data files to dump",
            "name them: as locations of a target, or with --data-under PREFIX of pysync dump",
        )
    return prefixes


def _new_manifest(config: Config, wanted: DumpRequest, within: tuple[Within, ...], source: ReplyRecorder) -> Manifest:
    """The dump as it begins; the newest notification is asked for before anything is read."""
    replaces = (wanted.former,) if wanted.former is not None else ()
    scope, data_under = scope_of([*within, *replaces]), _data_under(config, wanted)
    if wanted.since is None:
        upto = newest(source)
    else:
        upto = newest_within(source, scope, wanted.since, wanted.to, wanted.limit)
    return Manifest(
        id=uuid.uuid4().hex,
        source=config.source.name,
        within=within,
        replaces=replaces,
        since=wanted.since,
        upto=upto,
        began_at=time.time(),
        files=wanted.files,
        data_under=data_under,
    )


def _selection(source: ReplyRecorder, manifest: Manifest) -> DumpSelection:
    replaces = manifest.replaces
    former = scope_of(replaces) if replaces else None
    by_definition = needs_definitions(replaces)
    return DumpSelection(scope_of(manifest.within), _touched(source, manifest), former, by_definition)


def _touched(source: ReplyRecorder, manifest: Manifest) -> frozenset[TableName] | None:
    if manifest.since is None or manifest.upto is None:
        return None
    return touched_tables(source, manifest.since, manifest.upto)


def _names(source: ReplyRecorder, selection: DumpSelection) -> Iterator[TableName]:
    for database in filter(selection.scope.database, source.databases()):
        names = (TableName(database, table) for table in source.tables(database))
        yield from filter(selection.may_take, names)


def _add_files(config: Config, wanted: DumpRequest, pieces: Pieces, on_progress: Callable[[str], None]) -> None:
    """The files of all tables of the dump, or a list of them; a dump that was not finished has some already."""
    if wanted.files == "none":
        return
    dump = indexed(pieces.directory, pieces.manifest)
    listed = [it for it in pieces.manifest.pieces if it.name.startswith(f"{FILES}-")]
    last = read_piece(pieces.directory, listed[-1]) if listed else b""
    # The tables of the dump, not of the source, which may have others by now.
    with DumpReader(dump) as reader:
        if wanted.files == "list":
            with Lister.opened(config) as lister:
                pieces.write(FILES, "jsonl", b"", listing(lister, reader, _left(dump, last), on_progress))
            return
        with Into.opened(config, pieces.directory, pieces.manifest.data_under) as into:
            pieces.write(FILES, "jsonl", b"", into.parts(reader, dump.tables(), last_page(last), on_progress))


def _left(dump: Dump, listed: bytes) -> Iterator[TableName]:
    """The tables from the last listed one on, of which not all files may be listed."""
    lines = listed.splitlines()
    last = json.loads(lines[-1]) if lines else {"database": "", "table": ""}
    return (name for name in dump.tables() if name >= TableName(last["database"], last["table"]))


@contextmanager
def _reading(where: MetastoreRef) -> Iterator[ReplyRecorder]:
    try:
        with ReplyRecorder(where) as source:
            yield source
    except (MetastoreError, TException) as error:
        raise PysyncError(f"cannot read the source at {where}: {error}", "run the command again to continue") from error
