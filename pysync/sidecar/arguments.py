"""Arguments: what a request of the control socket may carry, whatever its command. Commands check what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import shortened, shown
from pysync.control.server import Command

_LONGEST = 1000
LARGEST = 2**63 - 1  # of a number in SQLite

Request = Mapping[str, Any]

_Kind = tuple[Callable[[Any], bool], str]


def checked(command: Command) -> Command:
    """The command; a request with an argument of a wrong type is refused before it. Other keys are not looked at."""

    def run(request: Request) -> Mapping[str, Any]:
        for key, value in request.items():
            is_fit, wanted = _KINDS.get(key, _ANY)
            if value is not None and not is_fit(value):
                raise PysyncError(f"{shortened(key, 80)} must be {wanted}, not {shortened(shown(value), 80)}")
        return command(request)

    return run


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_act(value: Any) -> bool:
    return isinstance(value, dict) and all(it is None or isinstance(it, bool) or _is_text(it) for it in value.values())


def _is_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(type(it) is int and 0 <= it <= LARGEST for it in value.values())


def _is_bounded(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= LARGEST


_ANY: _Kind = _is_bounded, f"a number of at most {LARGEST}"
_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(
        ("target", "table", "source_table", "reason", "instance", "why", "name", "as", "object", "wait", "begin"),
        (_is_text, f"a text of at most {_LONGEST} characters"),
    ),
    **dict.fromkeys(
        ("tables", "databases", "named", "names", "unequal"),
        (_is_list, f"a list of texts of at most {_LONGEST} characters"),
    ),
    "numbers": (_is_numbers, "an object of whole numbers"),
    "act": (_is_act, "an object of texts"),
}
