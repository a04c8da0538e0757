"""The pictures in README: where they are."""

from __future__ import annotations

from pathlib import Path

_DOCS = Path(__file__).resolve().parents[2] / "docs"
DEMO, PAGE = _DOCS / "demo.svg", _DOCS / "page.png"
