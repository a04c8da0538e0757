"""Functions of Hive that are known to mean the same in Trino, each with what makes it so. All others are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

from pysync.views.functions.collections import COLLECTIONS
from pysync.views.functions.conditions import CONDITIONS
from pysync.views.functions.moments import MOMENTS
from pysync.views.functions.numbers import NUMBERS
from pysync.views.functions.strings import STRINGS
from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed

_FUNCTIONS: Mapping[str, Callable[..., Typed]] = {**STRINGS, **NUMBERS, **MOMENTS, **COLLECTIONS, **CONDITIONS}
# Why some that are often used are none of them.
_REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("unix_timestamp", "from_unixtime", "current_date", "current_timestamp", "from_utc_timestamp"),
        "its result depends on the time zone of the session",
    ),
    **dict.fromkeys(("to_utc_timestamp", "now"), "its result depends on the time zone of the session"),
    **dict.fromkeys(("rand", "random", "uuid", "reflect", "java_method"), "its result is another at each call"),
    **dict.fromkeys(("stddev", "std", "variance", "add_months"), "Hive's versions and Spark differ in its result"),
}


def call(name: str, arguments: Sequence[Typed]) -> Typed:
    """A call of Hive's function `name`, in lower case. Raises CannotTranslate for those that are not known well."""
    function = _FUNCTIONS.get(name)
    if function is None:
        reason = _REASONS.get(name)
        raise CannotTranslate(f"the function {name}: {reason}" if reason else f"the function {name}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise CannotTranslate(f"the function {name} with {len(arguments)} arguments") from None
    return function(*arguments)
