"""What the views came to, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.support.presto_views import decoded
from tests.views.world import Outcome

KINDS = ("equal", "accepted", "refused", "wrong", "unread")
"""What becomes of views, as it is told."""


def tell(title: str, outcomes: Iterable[Outcome]) -> Counter[str]:
    """Print what is not equal, as it comes, and the counts; return these."""
    counts: Counter[str] = Counter()
    for it in outcomes:
        counts[it.kind] += 1
        counts["of one version"] += it.kind == "equal" and it.needs_version
        if it.kind != "equal":
            print(f"  {it.kind}: {it.name}: {it.reason}", flush=True)
        if it.kind == "wrong":
            print(f"    {(decoded(it.text) or {}).get('originalSql')}", flush=True)
    print(f"{title}: {', '.join(f'{counts[kind]} {kind}' for kind in KINDS)}", flush=True)
    if counts["of one version"]:
        print(f"  {counts['of one version']} of the equal ones with hive_version alone")
    return counts
