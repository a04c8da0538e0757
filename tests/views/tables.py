"""The tables of docs/aws.md that say which functions and casts of views are translated, made from the rules.

    python -m tests.views.tables

prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from pysync.hiveql.differences import DIFFERENCES, accepting
from pysync.hiveql.refusal import CannotTranslate
from pysync.model.names import TableName
from pysync.views.aggregates import AGGREGATES, WINDOWS
from pysync.views.functions import FUNCTIONS, REASONS
from pysync.views.translation import translated_text
from pysync.views.types import Columns, parse_type
from pysync.views.versions import VERSIONS, rules_in

_COLUMNS = {
    "s": "string",
    "i": "int",
    "b": "bigint",
    "f": "double",
    "d": "decimal(10,2)",
    "dt": "date",
    "ts": "timestamp",
    "ok": "boolean",
    "arr": "array<int>",
    "tags": "array<string>",
    "m": "map<string,int>",
}
_SAMPLES = {
    "map": ("'k', i",),
    "named_struct": ("'k', i",),
    "next_day": ("dt, 'MO'", "s, 'MO'"),
    "ntile": ("3",),
    "percentile": ("i, 0.5",),
    "printf": ("'%s', s",),
    "sha2": ("s, 256",),
    "space": ("3",),
    "substring_index": ("s, '-', 1",),
    "regexp_extract": ("s, '(a)', 1", "s, '(a)'"),
}
_OTHERS = (
    "1",
    "'a'",
    "'MM'",
    "'yyyy'",
    "'x', 1",
    "1, 'x'",
    "'a', 'b'",
    "s",
    "i",
    "dt",
    "s, 'x'",
    "s, s",
    "i, i",
    "d, d",
)
_OF_ZONE = frozenset({*rules_in("2.3", "UTC").functions} - {*VERSIONS["2.3"].functions})
_CASTS = ("string", "int", "bigint", "double", "decimal(10,2)", "date", "timestamp", "boolean")


def functions() -> str:
    """Which functions are translated, as a table in Markdown."""
    kinds: dict[str, list[str]] = {"yes": [], "partly": [], "version": [], "accepted": []}
    for name in sorted({*FUNCTIONS, *AGGREGATES, *WINDOWS}):
        if " " in name:  # of one version, by the name of another
            continue
        found = [_versions(f"select {it} as x from t") for it in _calls(name)]
        some, all_ = any(found), all(it is None or it for it in found)
        of_none = "accepted" if not any(it is False for it in found) else "version"
        kinds["yes" if some and all_ else "partly" if some else of_none].append(name)
    rows = {
        "whatever the version": kinds["yes"],
        "whatever the version, but with `hive_version` alone for some types, such as strings": kinds["partly"],
        "with `hive_version` alone": kinds["version"],
        "with an [accepted difference](#differences-that-you-accept) alone": kinds["accepted"],
        "with `hive_time_zone` alone": sorted(_OF_ZONE),
    }
    lines = [f"| {what} | {_listed(names)} |" for what, names in rows.items()]
    left = {name: why for name, why in REASONS.items() if name not in _OF_ZONE}
    reasons = {why: sorted(it for it in left if left[it] == why) for why in dict.fromkeys(left.values())}
    lines += [f"| refused: {why} | {_listed(names)} |" for why, names in reasons.items()]
    return "\n".join(["| translated | functions |", "|---|---|", *lines])


def casts() -> str:
    """Which casts are translated, as a table in Markdown."""
    head = ["| from, to | " + " | ".join(f"`{it}`" for it in _CASTS) + " |", "|---" * (len(_CASTS) + 1) + "|"]
    columns = {kind: name for name, kind in _COLUMNS.items()}
    rows = (
        [_word(f"select cast({columns[of]} as {to}) as x from t") if of != to else "" for to in _CASTS] for of in _CASTS
    )
    return "\n".join([*head, *(f"| `{of}` | {' | '.join(row)} |" for of, row in zip(_CASTS, rows, strict=True))])


def differences() -> str:
    """What a person may accept, as a table in Markdown."""
    return "\n".join(
        ["| id | what may differ |", "|---|---|", *(f"| `{it}` | {DIFFERENCES[it]} |" for it in DIFFERENCES)]
    )


def _calls(name: str) -> Iterator[str]:
    over = " over (order by i nulls first)" if name in WINDOWS else ""
    yield f"{name}(){over}"
    yield from (f"{name}({it}){over}" for it in (*_COLUMNS, *_SAMPLES.get(name, ())))
    yield from (f"{name}({one}, {others})" for one, others in product(_COLUMNS, _OTHERS))


def _word(text: str) -> str:
    """Whether a query is translated: `yes`, `version`, `accepted` or `no`."""
    words = {True: "yes", False: "version", None: "no"}
    with accepting(DIFFERENCES):
        with_all = _versions(text)
    found = _versions(text)
    return "accepted" if found is None and with_all is not None else words[found]


def _versions(text: str) -> bool | None:
    """Whether it is translated for views of any version; None if it is for none."""
    if _is_translated(text, None):
        return True
    return False if any(_is_translated(text, version) for version in VERSIONS) else None


def _is_translated(text: str, version: str | None) -> bool:
    try:
        translated_text(text, _columns_of, "db", version)
    except CannotTranslate:
        return False
    return True


def _columns_of(_: TableName) -> Columns:
    return [(name, parse_type(kind)) for name, kind in _COLUMNS.items()]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{it}`" for it in names)


if __name__ == "__main__":
    print(f"{functions()}\n\n{casts()}\n\n{differences()}")
