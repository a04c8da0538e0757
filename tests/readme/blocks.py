"""The shell blocks of a section of README, as a person would paste them."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def shell_blocks(heading: str, text: str) -> list[str]:
    """The ```sh blocks under `## heading`, in order. ValueError if the text has no such heading."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError(f"no heading {heading!r}")
    return re.findall(r"^```sh\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)
