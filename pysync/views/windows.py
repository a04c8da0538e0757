"""Windows and orders: where Hive puts NULLs, and which rows are in a frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed

Translate = Callable[[exp.Expression], Typed]


def ordered(node: exp.Ordered, sql: str) -> str:
    """One item of an ORDER BY: NULLs come first unless the order descends, which sqlglot has read from the dialect."""
    way = "DESC" if node.args.get("desc") else "ASC"
    return f"{sql} {way} NULLS {'FIRST' if node.args.get('nulls_first') else 'LAST'}"


def over(node: exp.Window, translate: Translate, *, has_frame: bool) -> str:
    """` OVER (…)`; functions that look at all rows have no frame in Trino. Raises CannotTranslate."""
    if node.args.get("alias") or node.args.get("first") or not set(node.args) <= _KNOWN:
        raise CannotTranslate("a window with a name")
    parts = []
    if node.args.get("partition_by"):
        parts.append(f"PARTITION BY {', '.join(translate(it).sql for it in node.args['partition_by'])}")
    if node.args.get("order"):
        items: Sequence[exp.Ordered] = node.args["order"].expressions
        parts.append(f"ORDER BY {', '.join(ordered(it, translate(it.this).sql) for it in items)}")
    if has_frame and node.args.get("spec"):
        parts.append(_frame(node.args["spec"]))
    return f" OVER ({' '.join(parts)})"


_KNOWN = {"this", "partition_by", "order", "spec", "alias", "over", "first"}


def _frame(spec: exp.WindowSpec) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in {"ROWS", "RANGE"} or spec.args.get("exclude"):
        raise CannotTranslate(f"a frame of {kind}")
    start = _bound(spec, "start", kind)
    return f"{kind} BETWEEN {start} AND {_bound(spec, 'end', kind) if spec.args.get('end') else 'CURRENT ROW'}"


def _bound(spec: exp.WindowSpec, end: str, kind: str) -> str:
    value, side = spec.args.get(end), str(spec.args.get(f"{end}_side") or "").upper()
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isdigit() and kind == "ROWS":
        return f"{value.this} {side}"
    word = str(value).upper()
    if word == "CURRENT ROW":
        return word
    if word == "UNBOUNDED" and side in {"PRECEDING", "FOLLOWING"}:
        return f"{word} {side}"
    raise CannotTranslate("a frame by values")
