"""Long answers come in pages, with a token that says where the next one begins."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from pysync.lab.aws.refusals import invalid

_MARK = "from:"


def page(items: Sequence[Any], request: dict[str, Any], size: int, key: str) -> dict[str, Any]:
    """The part of the items that the request asks for, under `key`; `size` is how many unless it says so."""
    size = request.get("MaxResults") or size
    start = _start(request["NextToken"]) if request.get("NextToken") else 0
    answer: dict[str, Any] = {key: list(items[start : start + size])}
    if start + size < len(items):
        answer["NextToken"] = base64.b64encode(f"{_MARK}{start + size}".encode()).decode()
    return answer


def _start(token: str) -> int:
    try:
        text = base64.b64decode(token, validate=True).decode()
    except ValueError:  # the exceptions of both are of this kind
        text = ""
    number = text.removeprefix(_MARK)
    if not text.startswith(_MARK) or not number.isdecimal():
        raise invalid(f"Invalid pagination token {token!r}")
    return int(number)
