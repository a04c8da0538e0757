"""bench-bootstrap: an existing metastore brought to an empty one, against hand-made batches on the same kind of server.

PYSYNC_BENCH_TABLES (2,000) tables of a hundred partitions each, on disk. By hand are `create_table` and
`add_partitions_req`, one of each for a table, by as many threads as there are lanes, of objects that are made up on the
spot: it reads no source. It gets a quarter of the tables, for its tables are all alike. The directories of all
partitions are there beforehand, as after a copy: for each one that a metastore has to make it starts a `chmod`, more
than half of the time of an add, which says nothing about anybody. `pysync bootstrap` is the real process, without a
sidecar; it is killed twice, and what it has to do again counts. At the end all of it is compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.config import Config, load_config
from pysync.control.client import ask
from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.targets.kinds import target_kind
from pysync.verify.compare import Comparison
from tests.bench.frame import Row, Say
from tests.bench.histories import History

TABLES = int(os.environ.get("PYSYNC_BENCH_TABLES", "2000"))
PARTITIONS = 100
LANES = 4
_BY_HAND = 4  # one part in so many
_HEAP_MB = 1024
_DATABASES = 10
_EVERY_SECONDS = 0.5
_SAMPLE = 10  # tables whose partitions are fetched one by one
_KILLS = (1 / 3, 2 / 3)
_STATISTICS = {"numFiles": "1", "totalSize": "1024", "numRows": "10", "rawDataSize": "100"}

_CONFIG = """\
[source]
name = "bench"
metastore = "{source}"
[queue]
directory = "{directory}/queue"
min_free_mb = 0
[[targets]]
name = "copy"
kind = "hms"
metastore = "{target}"
lanes = {lanes}
include = ["shop*"]
locations = {{ "file:{source_warehouse}" = "file:{target_warehouse}" }}
"""


@dataclass(slots=True)
class Run:
    """One bootstrap, all processes of it together."""

    seconds: float = 0.0
    rss_mb: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)


def run(say: Say) -> Iterator[Row]:
    """The rows `bootstrap.*` and `verify.time_ratio`."""
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as name:
        directory = Path(name)
        with _server(directory, "source") as source:
            say(f"the source gets {TABLES} tables of {PARTITIONS} partitions")
            _make_directories(source, TABLES)
            _fill(source, TABLES, say)
            by_hand = _by_hand(directory, say)
            yield Row("bootstrap.by_hand_per_second", by_hand, "partitions/s")
            with _server(directory, "target") as target:
                _make_directories(target, TABLES)
                yield from _bootstrap(directory, source, target, by_hand, say)


def _server(directory: Path, name: str) -> EmbeddedMetastore:
    return EmbeddedMetastore(directory / name, name=name, database="disk", heap_mb=_HEAP_MB)


def _by_hand(directory: Path, say: Say) -> float:
    """Partitions a second."""
    tables = max(1, TABLES // _BY_HAND)
    with _server(directory, "by-hand") as server:
        _make_directories(server, tables)
        say(f"hand-made batches: {tables} tables")
        began = time.perf_counter()
        _fill(server, tables, say)
        return tables * PARTITIONS / (time.perf_counter() - began)


def _make_directories(server: EmbeddedMetastore, tables: int) -> None:
    for history, name in _work(server, tables):
        owner = history.table(name)
        for number in range(PARTITIONS):
            Path(history.partition(owner, number).sd.location.removeprefix("file:")).mkdir(parents=True)


def _work(server: EmbeddedMetastore, tables: int) -> Iterator[tuple[History, str]]:
    """Each table, with that of its database."""
    histories = [History(f"shop{number}", f"file:{server.warehouse}") for number in range(_DATABASES)]
    return ((histories[number % _DATABASES], f"t{number:05}") for number in range(tables))


def _fill(server: EmbeddedMetastore, tables: int, say: Say) -> None:
    with closing(Metastore(server.uri)) as metastore:
        for name in sorted({history.database for history, _ in _work(server, tables)}):
            made = hive.Database(name, "bench", f"file:{server.warehouse}/{name}.db", {})
            metastore.call(lambda client, it=made: client.create_database(it))
    with ThreadPoolExecutor(LANES) as pool:
        for done, _ in enumerate(pool.map(lambda one: _make(server.uri, *one), _work(server, tables)), 1):
            if done % 10 == 0:
                say(f"{server.name}: {done} of {tables} tables")


def _make(uri: str, history: History, name: str) -> None:
    owner = history.table(name)
    parts = [history.partition(owner, number) for number in range(PARTITIONS)]
    for part in parts:
        part.parameters = dict(_STATISTICS)
    request = hive.AddPartitionsRequest(owner.dbName, owner.tableName, parts, True, False)
    with closing(Metastore(uri)) as metastore:
        metastore.call(lambda client: client.create_table(owner))
        metastore.call(lambda client: client.add_partitions_req(request))


def _bootstrap(
    directory: Path, source: EmbeddedMetastore, target: EmbeddedMetastore, by_hand: float, say: Say
) -> Iterator[Row]:
    file = directory / "pysync.toml"
    warehouses = {"source_warehouse": source.warehouse, "target_warehouse": target.warehouse}
    text = _CONFIG.format(source=source.uri, target=target.uri, directory=directory, lanes=LANES, **warehouses)
    file.write_text(text)
    config = load_config(file)
    done = Run()
    for share in (*_KILLS, None):
        _once(file, config, share, done, say)
    found = done.result["targets"][0]
    whole = (TABLES, TABLES * PARTITIONS, 0)
    if (found["tables"], found["partitions"], found["parked"]) != whole:
        raise RuntimeError(f"not all is there: {found}")
    rate = TABLES * PARTITIONS / done.seconds
    yield Row("bootstrap.partitions_per_second", rate, "partitions/s", baseline=by_hand, more_is_better=True)
    yield Row("bootstrap.rate_ratio", rate / by_hand, "of by hand", goal=0.8, more_is_better=True)
    yield Row("bootstrap.rss_mb", done.rss_mb, "MiB", goal=400)
    yield _verify(source, config, say)


def _once(file: Path, config: Config, share: float | None, into: Run, say: Say) -> None:
    """One process, to its end or until it has done that share of the tables, when it is killed."""
    command = [sys.executable, "-m", "pysync", "bootstrap", "-c", str(file), "--json"]
    began = time.perf_counter()
    with (file.parent / "errors").open("ab") as errors, (file.parent / "result").open("wb") as result:
        process = subprocess.Popen(command, stdout=result, stderr=errors)
    while True:
        pid, code, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        done = _done(config, say)
        if share is not None and done >= share * TABLES:
            process.kill()
            say(f"it is killed at {done} of {TABLES} tables")
            _, code, used = os.wait4(process.pid, 0)
            break
        time.sleep(_EVERY_SECONDS)
    process.returncode = os.waitstatus_to_exitcode(code)
    into.seconds += time.perf_counter() - began
    into.rss_mb = max(into.rss_mb, used.ru_maxrss / 1024)
    if share is None:
        into.result = _result(process.returncode, file.parent)


def _result(code: int, directory: Path) -> dict[str, Any]:
    if code:
        raise RuntimeError(f"pysync bootstrap ended with {code}: {(directory / 'errors').read_text()}")
    found: dict[str, Any] = json.loads((directory / "result").read_text())
    return found


def _done(config: Config, say: Say) -> int:
    """How many tables are done; 0 while it starts or ends."""
    try:
        status: Mapping[str, Any] | None = ask(config.queue.directory, "status")["bootstrap"]
    except PysyncError:
        return 0
    if status is None:
        return 0
    found = status["targets"][0]
    say(f"bootstrap: {found['tables']} of {TABLES} tables, {found['partitions_per_second']:.0f} partitions/s")
    return int(found["tables"])


def _verify(source: EmbeddedMetastore, config: Config, say: Say) -> Row:
    """The comparison of both ends, which must be equal, against one call for every partition at both."""
    settings = config.targets[0]
    say("both ends are compared")
    began = time.perf_counter()
    opened = partial(target_kind(settings.kind).open, settings)
    comparison = Comparison(partial(Metastore, source.uri), opened, settings, config.source.name)
    drift = [
        it for it in comparison.run(on_progress=lambda name, at, of: say(f"compared {at} of {of}: {name}")) if it.drift
    ]
    seconds = time.perf_counter() - began
    if drift:
        raise RuntimeError(f"the ends differ: {drift[:3]}")
    say("partitions of a sample of the tables are fetched one by one")
    one_by_one = sum(_fetch(uri) for uri in (source.uri, settings.model_dump()["metastore"]))
    return Row("verify.time_ratio", seconds / (one_by_one * TABLES), "of one by one", goal=0.5)


def _fetch(uri: str) -> float:
    """Seconds for each table to fetch every partition by a call of its own; a sample."""
    sample = min(_SAMPLE, TABLES)
    with closing(Metastore(uri)) as metastore:
        began = time.perf_counter()
        for number in range(sample):
            database, name = f"shop{number % _DATABASES}", f"t{number:05}"
            for wanted in metastore.partition_names(database, name):
                metastore.call(
                    lambda client, of=database, it=name, one=wanted: client.get_partition_by_name(of, it, one)
                )
        return (time.perf_counter() - began) / sample
