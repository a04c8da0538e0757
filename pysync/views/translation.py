"""A view of Hive in Trino's SQL, or the reason why not. Pure: what it must know of tables it asks a function.

Trino and Athena keep a view in a catalog as JSON in base64, in a comment of the original text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.text import shortened
from pysync.hiveql.differences import accept, accepting, differences_in, with_differences
from pysync.hiveql.refusal import CannotTranslate
from pysync.model.definition import database_in_view
from pysync.model.names import normalized
from pysync.views.constant_columns import fixed_columns
from pysync.views.queries import query, renamed
from pysync.views.scopes import ColumnsOf, Scope
from pysync.views.spark import rules_of
from pysync.views.text import understood
from pysync.views.types import DATE, STRING, Columns, HiveType, parse_type
from pysync.views.versions import VERSIONS, rules_in

_PREFIX, _SUFFIX = "/* Presto View: ", " */"
MARKS = {"presto_view": "true", "comment": "Presto View"}
"""The properties of such a view."""
CATALOG = "awsdatacatalog"
"""The name of the Glue Data Catalog in Athena."""

_Translated = tuple[str, Columns]

_UNKNOWN = "the version is not known: source.hive_version"
_LONGEST_PART = 80  # characters of an expression in a reason


def encoded(translation: Translation, database: str, comment: str | None = None, *, owned: bool = True) -> str:
    """The original text of a view of Athena. The same translation gives the same text.

    Trino reads a view with the rights of its owner; one that has none must say that it is read with the reader's.
    """
    definition: dict[str, Any] = {
        "originalSql": translation.sql,
        "catalog": CATALOG,
        "schema": database,
        "columns": [{"name": name, "type": kind.trino} for name, kind in translation.columns],
    }
    if not owned:
        definition["runAsInvoker"] = True
    if words := with_differences(comment, translation.differences):
        definition["comment"] = words
    content = json.dumps(definition, ensure_ascii=True).encode()
    return f"{_PREFIX}{base64.b64encode(content).decode()}{_SUFFIX}"


def is_of_hive(view: Any) -> bool:
    """Whether it is a view of Hive, not of Spark. Raises CannotTranslate for one of Spark that is not understood."""
    return rules_of(view) is None


def is_presto(text: str | None) -> bool:
    """Whether the text is that of a view of Presto, Trino or Athena."""
    return (text or "").startswith("/* Presto ")


def accepted_in(text: str | None) -> Sequence[str]:
    """The ids of the differences that a text of `encoded` names; none for any other text."""
    try:
        definition = json.loads(base64.b64decode((text or "").removeprefix(_PREFIX).removesuffix(_SUFFIX)))
    except ValueError:
        return ()
    return differences_in(definition.get("comment")) if isinstance(definition, dict) else ()


@dataclass(frozen=True, slots=True)
class Translation:
    """A query of Trino that gives the rows of a view but for `differences` (ids), and the columns of the view.

    It fails at some values unless the differences `failing` (ids) are accepted.
    """

    sql: str
    columns: Columns
    differences: frozenset[str] = frozenset()
    failing: frozenset[str] = frozenset()


def translate(
    view: Any,
    columns_of: ColumnsOf,
    hive: str | None = None,
    accepted: Collection[str] = (),
    zone: str | None = None,
) -> Translation:
    """The view in Trino's SQL, with the columns that its metastore says. Raises CannotTranslate.

    The same view and the same tables give the same text. `hive` is the version of Hive whose view it is, if that is
    known: a key of VERSIONS. `accepted` are the ids of differences that its rows may have. `zone` is the time zone of
    its sessions, if that is known.
    """
    with accepting(accepted) as (differences, failing):
        sql, columns = _translated(view, columns_of, hive, zone)
        return Translation(sql, columns, frozenset(differences), frozenset(failing))


def _translated(view: Any, columns_of: ColumnsOf, hive: str | None, zone: str | None) -> _Translated:
    declared = (view.sd.cols if view.sd is not None else None) or ()
    wanted = [(normalized(it.name or ""), parse_type(it.type or "")) for it in declared]
    text = view.viewExpandedText or view.viewOriginalText or ""
    database = database_in_view(view.parameters, view.dbName)
    rules = rules_of(view)
    if rules is None:
        sql, columns = translated_text(text, columns_of, normalized(database), hive, zone)
    else:
        sql, columns = translated_query(text, Scope(columns_of, normalized(database), rules))
    _assert_same(wanted, columns)
    if list(columns) != wanted:
        sql = renamed(sql, columns, wanted)
    return sql, wanted


def translated_text(
    text: str, columns_of: ColumnsOf, database: str, hive: str | None, zone: str | None = None
) -> _Translated:
    """A query of Hive in Trino's SQL, and its columns. Raises CannotTranslate.

    If the version of Hive is not known, all versions must mean the same.
    """
    translations: dict[str, _Translated] = {}
    refused: dict[str, CannotTranslate] = {}
    for version in VERSIONS if hive is None else [hive]:
        try:
            translations[version] = translated_query(text, Scope(columns_of, database, rules_in(version, zone)))
        except CannotTranslate as error:
            refused[version] = error
    for version, refusal in refused.items():
        if not translations:
            raise refusal
        raise CannotTranslate(f"{refusal} (in Hive {version}; {_UNKNOWN})", needs="hive_version")
    first, *others = translations.values()
    if any(it != first for it in others):
        part = _differing_part(text, columns_of, database, zone)
        raise CannotTranslate(f"versions of Hive give different rows for {part}; {_UNKNOWN}", needs="hive_version")
    return first


def _differing_part(text: str, columns_of: ColumnsOf, database: str, zone: str | None) -> str:
    """The smallest expression whose translation depends on the version of Hive, as it is written."""
    traces = []
    for version in VERSIONS:
        scope = Scope(columns_of, database, rules_in(version, zone), trace=[])
        translated_query(text, scope)
        traces.append({str(node.sql("hive", normalize_functions=False)): sql for node, sql in scope.trace or ()})
    first, *others = traces
    differing = (it for it, sql in first.items() if any(other.get(it, sql) != sql for other in others))
    # An ORDER BY within a part is written in another way where NULLs have another place.
    unlike = (it for it in first if any(it not in other for other in others))
    if (part := next(differing, None) or next(unlike, None)) is not None:
        return shortened(part, _LONGEST_PART)
    return "ORDER BY with LIMIT"


def translated_query(text: str, scope: Scope) -> _Translated:
    """The same by the rules of an empty scope. Raises CannotTranslate."""
    try:
        tree = understood(text, puts_nulls_last=scope.rules.puts_nulls_last)
        scope.fixed = frozenset() if scope.rules.of_spark else fixed_columns(tree)
        return query(tree, scope)
    except RecursionError:
        raise CannotTranslate("the query is nested too deeply") from None


def _assert_same(wanted: Columns, columns: Columns) -> None:
    """That each column is of a type that its declared one can hold: else something has been misunderstood."""
    if len(wanted) != len(columns):
        raise CannotTranslate(f"{len(columns)} columns in the query, {len(wanted)} in the view")
    for (name, want), (_, have) in zip(wanted, columns, strict=True):
        if not _holds(want, have):
            raise CannotTranslate(f"the column {name}: {have} in the query, {want} in the view")


def _holds(want: HiveType, have: HiveType) -> bool:
    if want == have or have.name == "void":
        return True
    if want.name == "char" and have.is_text:
        accept("char-blanks", f"a function of a char, of which Hive makes a {want} whose blanks may count")
        return True
    if want.within or have.within:
        are_named_alike = [it.lower() for it in want.names] == [it.lower() for it in have.names]
        return want.name == have.name and are_named_alike and all(map(_holds, want.within, have.within))
    if want.name == "decimal" and have.name == "decimal":
        return want.scale == have.scale
    if want.is_integer and have.is_integer:
        return True
    # Some versions of Hive give dates as strings.
    return want.name in {"string", "varchar"} and (have.is_text or (have == DATE and want == STRING))
