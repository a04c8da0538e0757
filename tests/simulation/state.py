"""What a simulated metastore holds, as plain values that can be compared: without marks, and what its server sets."""

from __future__ import annotations

from typing import Any

from pysync.lab.memory import MemoryStore
from pysync.model.definition import definition

State = dict[str, dict[str, Any]]


def state(store: MemoryStore) -> State:
    """Everything that counts, by `db`, `db.table`, `db.table/values` and `db.function()`."""
    found: State = {}
    for name, database in store.databases.items():
        found[name] = definition(database.struct)
        for function, struct in database.functions.items():
            found[f"{name}.{function}()"] = definition(struct)
        for table, held in database.tables.items():
            found[f"{name}.{table}"] = definition(held.struct)
            for values, part in held.partitions.items():
                found[f"{name}.{table}/{','.join(values)}"] = definition(part)
    return found


def differences(mine: State, its: State) -> list[str]:
    """In what two metastores differ, a line each."""
    names = sorted(mine.keys() | its.keys())
    return [f"{name}: {_told(mine, its, name)}" for name in names if mine.get(name) != its.get(name)]


def _told(mine: State, its: State, name: str) -> str:
    if name not in mine or name not in its:
        return "only at the second" if name not in mine else "only at the first"
    fields = sorted(mine[name].keys() | its[name].keys())
    changed = [key for key in fields if mine[name].get(key) != its[name].get(key)]
    return "; ".join(f"{key} {mine[name].get(key)} and {its[name].get(key)}" for key in changed)
