"""The tables of TPC-H and TPC-DS, small, made by DuckDB; and the queries, as Spark's tests have them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

_HIVE = {"VARCHAR": "string", "INTEGER": "int", "BIGINT": "bigint", "DATE": "date", "DOUBLE": "double"}
_MAKE = """
import json, sys
from pathlib import Path
import duckdb, duckdb_ext
suite, scale, directory = sys.argv[1], sys.argv[2], Path(sys.argv[3])
extension = next(Path(list(duckdb_ext.__path__)[0]).rglob(f"{suite}.duckdb_extension"))
base = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
base.execute(f"LOAD '{extension}'")
base.execute(f"CALL {'dsdgen' if suite == 'tpcds' else 'dbgen'}(sf={scale})")
found = {}
for (name,) in base.execute("SHOW TABLES").fetchall():
    (directory / name).mkdir(parents=True)
    if name == "customer" and suite == "tpcds":  # as the queries call it
        base.execute("ALTER TABLE customer RENAME c_last_review_date_sk TO c_last_review_date")
    base.execute(f"COPY {name} TO '{directory / name / 'part.parquet'}' (FORMAT parquet)")
    found[name] = [row[:2] for row in base.execute(f"DESCRIBE {name}").fetchall()]
print(json.dumps(found))
"""


def make_tables(home: Path, suite: str, scale: str, directory: Path) -> Mapping[str, str]:
    """Parquet files of each table below `directory`; returns the columns of each, as in Hive's DDL."""
    command = [str(home / "venv/bin/python"), "-c", _MAKE, suite, scale, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    tables: dict[str, list[tuple[str, str]]] = json.loads(done.stdout.splitlines()[-1])
    return {name: ", ".join(f"{column} {_hive(kind)}" for column, kind in its) for name, its in tables.items()}


def _hive(kind: str) -> str:
    return _HIVE.get(kind, kind.lower())


def queries(home: Path, suite: str) -> Iterator[tuple[str, str]]:
    """The queries by their names: `q1`, `q14a`."""
    for file in sorted((home / "queries" / suite).glob("q*.sql"), key=lambda it: (len(it.stem.rstrip("ab")), it.stem)):
        yield file.stem, "\n".join(line for line in file.read_text().splitlines() if not line.startswith("--"))
