"""What is in the text of a view of Presto, Trino or Athena."""

from __future__ import annotations

import base64
import json
from typing import Any

_PREFIX, _SUFFIX = "/* Presto View: ", " */"


def decoded(text: str) -> dict[str, Any] | None:
    """The definition in such a text; None for any other."""
    if not text.startswith(_PREFIX):
        return None
    found: dict[str, Any] = json.loads(base64.b64decode(text[len(_PREFIX) : -len(_SUFFIX)], validate=True))
    return found
