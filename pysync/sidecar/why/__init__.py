"""Why: what became of a database, table or function, and why a target does not have it (`pysync why`).

`naming` finds its names, and `lives` when it had each. `events` finds what the queue has of it, `facts` gathers what is
known at each target. `reasons` decides what to say of that, and `answer` puts it together.
"""

from pysync.sidecar.why.answer import Why, why_offline

__all__ = ["Why", "why_offline"]
