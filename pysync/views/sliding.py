"""Sums and averages over frames of rows that have a beginning, as Hive calculates them.

It takes the sum from the first row to the end of the frame, less that to the row before the frame. So what is no number
counts for all rows behind it, digits that were lost stay lost, and where a frame has nothing but NULL, a sum is 0, if
there was something before.
"""

from __future__ import annotations

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.aggregates import AGGREGATES
from pysync.views.casts import as_double
from pysync.views.typed_expressions import Typed, repeated
from pysync.views.types import DOUBLE
from pysync.views.windows import Frames

SLIDING = frozenset({"avg", "sum"})
"""The functions that Hive calculates so."""


def slid(name: str, value: Typed, frames: Frames, *, is_null_of_nothing: bool) -> Typed:
    """`name` is one of SLIDING; `is_null_of_nothing`: whether the sum of nothing but NULL is NULL.

    Raises CannotTranslate.
    """
    if value.type.is_text:
        raise CannotTranslate(f"the function {name} of strings over some rows")
    whole = AGGREGATES[name]([value], "")(frames.frame)
    if name == "sum" and value.type.is_exact and not is_null_of_nothing:
        sql = repeated(value, 2).sql
        was_there = f"count({sql}){frames.to_end} > 0 AND count(*){frames.frame} > 0"
        return Typed(f"COALESCE({whole.sql}, IF({was_there}, CAST(0 AS {whole.type.trino})))", whole.type)
    if value.type.name == "decimal" or (name == "sum" and value.type.is_exact):
        return whole
    sql = repeated(as_double(value), 5).sql
    total = f"(sum({sql}){frames.to_end} - COALESCE(sum({sql}){frames.before}, 0e0))"
    counted = sql if name == "sum" and is_null_of_nothing else "*"
    total = total if name == "sum" else f"{total} / count({sql}){frames.frame}"
    return Typed(f"IF(count({counted}){frames.frame} > 0, {total})", DOUBLE)
