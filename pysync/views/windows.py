"""Windows and orders: where Hive puts NULLs, and which rows are in a frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from pysync.base.text import whole_number
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.typed_expressions import Typed
from pysync.views.types import BIGINT

Translate = Callable[[exp.Expression], Typed]

_KNOWN = {"this", "partition_by", "order", "spec", "alias", "over", "first"}
_UNBOUNDED = 2**31 - 1  # as Hive writes it
_BY_VALUES = re.compile(r"RANGE .*\d")
_ROWS = re.compile(r"ROWS BETWEEN (\d+ \w+|CURRENT ROW) AND (\d+ \w+|CURRENT ROW)")
_WITH_ROW = re.compile(r"BETWEEN (?:\S+ PRECEDING|CURRENT ROW) AND (?:\S+ FOLLOWING|CURRENT ROW)")


def ordered(node: exp.Ordered, value: Typed, *, has_two_zeros: bool = False) -> str:
    """One item of an ORDER BY: NULLs come first unless the order descends, which sqlglot has read from the dialect.

    Hive sorts -0.0 before 0.0 where rows are cut by a LIMIT, and takes them for equal in windows.

    Raises CannotTranslate.
    """
    if value.type.within:  # Trino fails at a NULL that is in one
        raise CannotTranslate(f"an order of {value.type}")
    way = "DESC" if node.args.get("desc") else "ASC"
    is_first = bool(node.args.get("nulls_first"))
    # Where NULLs come first, Trino takes NaN for the least; it is the most.
    is_double = value.type.name in {"double", "float"}
    keys = [f"is_nan({value.sql})", value.sql] if is_first and is_double else [value.sql]
    keys += [f"(1e0 / {value.sql})"] if has_two_zeros and is_double else []
    return ", ".join(f"{it} {way} NULLS {'FIRST' if is_first else 'LAST'}" for it in keys)


@dataclass(frozen=True, slots=True)
class Frames:
    """` OVER (…)` of a frame of rows, of all rows to its end, and of all before it."""

    frame: str
    to_end: str
    before: str


def begins_at_a_row(node: exp.Window) -> bool:
    """Whether the frame of a window begins at some row, not at the first."""
    spec = node.args.get("spec")
    return spec is not None and str(spec.args.get("start")).upper() != "UNBOUNDED"


def sliding(node: exp.Window, translate: Translate) -> Frames | None:
    """The frames of a window whose own begins at some row; None if it begins at the first. Raises CannotTranslate."""
    if not begins_at_a_row(node):
        return None
    frame = _frame(node.args["spec"])
    ends = _ROWS.fullmatch(frame)
    if ends is None:
        raise CannotTranslate("a sum or average over a frame by values, or to the last row, which Hive takes in steps")
    rows = int(ends[1].split()[0]) * (1 if "FOLLOWING" in ends[1] else -1) if ends[1] != "CURRENT ROW" else 0
    before = f"{abs(rows - 1)} {'FOLLOWING' if rows > 1 else 'PRECEDING'}" if rows != 1 else "CURRENT ROW"
    all_to = ("ROWS BETWEEN UNBOUNDED PRECEDING AND " + it for it in (ends[2], before))
    return Frames(*(_over(node, translate, it) for it in (frame, *all_to)))


def over(node: exp.Window, translate: Translate, *, has_frame: bool, by_values: str = "") -> str:
    """` OVER (…)`; functions that look at all rows have no frame in Trino. Raises CannotTranslate.

    `by_values` is why a frame by values is another, if it is.
    """
    return _over(node, translate, _frame(node.args["spec"]) if has_frame and node.args.get("spec") else "", by_values)


def _over(node: exp.Window, translate: Translate, frame: str, by_values: str = "") -> str:
    if node.args.get("alias") or node.args.get("first") or not set(node.args) <= _KNOWN:
        raise CannotTranslate("a window with a name")
    parts = []
    items: Sequence[exp.Ordered] = node.args["order"].expressions if node.args.get("order") else ()
    if node.args.get("partition_by"):
        parts.append(f"PARTITION BY {', '.join(translate(it).sql for it in node.args['partition_by'])}")
    if items:
        parts.append(f"ORDER BY {', '.join(ordered(it, translate(it.this)) for it in items)}")
    if _BY_VALUES.match(frame):
        if by_values:
            raise CannotTranslate(f"a frame by values, {by_values}")
        parts[-1] = f"ORDER BY {_by_values(frame, items, translate)}"
    parts += [frame] if frame else []
    return f" OVER ({' '.join(parts)})"


def _by_values(frame: str, items: Sequence[exp.Ordered], translate: Translate) -> str:
    """The order of a frame by values, in a type that sums with an integer do not overflow."""
    values = [translate(it.this) for it in items]
    if len(values) != 1 or not values[0].type.is_integer or values[0].type == BIGINT:
        raise CannotTranslate("a frame by values that are not of one int")
    if not _WITH_ROW.search(frame):  # Hive's of a NULL is empty
        raise CannotTranslate("a frame by values without the current row")
    return ordered(items[0], Typed(f"CAST({values[0].sql} AS bigint)", BIGINT))


def _frame(spec: exp.WindowSpec) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in {"ROWS", "RANGE"} or spec.args.get("exclude"):
        raise CannotTranslate(f"a frame of {kind}")
    start = _bound(spec, "start")
    return f"{kind} BETWEEN {start} AND {_bound(spec, 'end') if spec.args.get('end') else 'CURRENT ROW'}"


def _bound(spec: exp.WindowSpec, end: str) -> str:
    value, side = spec.args.get(end), str(spec.args.get(f"{end}_side") or "").upper()
    rows = whole_number(value.this) if isinstance(value, exp.Literal) and not value.is_string else None
    if rows is not None and rows < _UNBOUNDED:
        return f"{rows} {side}"
    word = str(value).upper()
    if word == "CURRENT ROW":
        return word
    if word == "UNBOUNDED" and side in {"PRECEDING", "FOLLOWING"}:
        return f"{word} {side}"
    raise CannotTranslate("a frame by values")
