"""Functions of Hive that are known to mean the same in Trino, each with what makes it so. All others are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.collections import COLLECTIONS
from pysync.views.conditions import CONDITIONS
from pysync.views.delimiters import DELIMITED
from pysync.views.json_values import JSON_VALUES
from pysync.views.moments import MOMENTS
from pysync.views.months import MONTHS
from pysync.views.numbers import NUMBERS
from pysync.views.strings import STRINGS
from pysync.views.typed_expressions import Typed
from pysync.views.urls import URLS
from pysync.views.written_numbers import WRITTEN_NUMBERS
from pysync.views.zones import DEPENDENT, DEPENDS_ON_ZONE

FUNCTIONS: Mapping[str, Callable[..., Typed]] = {
    **STRINGS,
    **DELIMITED,
    **WRITTEN_NUMBERS,
    **NUMBERS,
    **MOMENTS,
    **MONTHS,
    **COLLECTIONS,
    **CONDITIONS,
    **JSON_VALUES,
    **URLS,
}
_UNKNOWN = "what it gives in Trino is not known"
REASONS: Mapping[str, str] = {
    **dict.fromkeys(DEPENDENT, DEPENDS_ON_ZONE),
    **dict.fromkeys(("rand", "random", "uuid", "reflect", "java_method"), "its result is another at each call"),
    **dict.fromkeys(("map_keys", "map_values"), "Hive's versions and Spark differ in its result"),
}
"""Why some that are often used are none of them."""


def call(name: str, arguments: Sequence[Typed], others: Mapping[str, Callable[..., Typed]]) -> Typed:
    """A call of the function `name`, in lower case; `others` come before those that are known here.

    Raises CannotTranslate for functions that are not known well.
    """
    function = others.get(name) or FUNCTIONS.get(name)
    if function is None:
        reason = REASONS.get(name)
        raise CannotTranslate(f"the function {name}: {reason or _UNKNOWN}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise CannotTranslate(f"the function {name} with {len(arguments)} arguments") from None
    return function(*arguments)
