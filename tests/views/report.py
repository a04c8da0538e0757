"""What the views came to, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pysync.views.presto import decoded
from tests.views.world import Outcome


def tell(title: str, outcomes: Sequence[Outcome]) -> Counter[str]:
    """Print what is not equal, and the counts; return these."""
    counts = Counter(it.kind for it in outcomes)
    for it in outcomes:
        if it.kind != "equal":
            print(f"  {it.kind}: {it.name}: {it.reason}")
        if it.kind == "wrong":
            print(f"    {(decoded(it.text) or {}).get('originalSql')}")
    print(f"{title}: {', '.join(f'{counts[kind]} {kind}' for kind in ('equal', 'refused', 'wrong', 'unread'))}")
    return counts
