"""Monitoring: the alerts for Prometheus and the dashboard for Grafana, with the addresses of a site in them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pysync.base.errors import UsageError
from pysync.base.text import quoted

RULES = "pysync.rules.yml"
DASHBOARD = "grafana-dashboard.json"

_RUNBOOK = "docs/failures.md"
"""What stands in the rules for the address of the runbook."""
_ADDRESS = re.compile(r"https?://[^\s\"'<>#\\]+", re.ASCII)


def address(text: str) -> str:
    """The address of a page, as it may stand in YAML and JSON. Raises UsageError for any other text."""
    if not _ADDRESS.fullmatch(text):
        raise UsageError(
            f"{quoted(text)} is not the address of a page", "write it as https://docs.example.com/failures"
        )
    return text


def rules(text: str, runbook: str | None) -> str:
    """The rules; `runbook_url` of each alert is its section of the page `runbook`. `text` is that of RULES."""
    return text if runbook is None else text.replace(f"runbook_url: {_RUNBOOK}#", f"runbook_url: {runbook}#")


def dashboard(text: str, runbook: str | None, page: str | None) -> str:
    """The dashboard with links to the sidecar's page and to the runbook. `text` is that of DASHBOARD."""
    return text.replace('"links": []', f'"links": {json.dumps(list(_links(runbook, page)))}', 1)


def _links(runbook: str | None, page: str | None) -> Iterator[dict[str, Any]]:
    for title, url in (("pysync's page", page), ("What to do when", runbook)):
        if url is not None:
            yield {"type": "link", "icon": "external link", "title": title, "url": url, "targetBlank": True}
