"""Why: what happened to a database, table or function, and why a target does not have it (`pysync why`).

`naming` finds which object is meant, `name_history` the names that it has had, `events` what the queue has of it.
`facts` gathers what is known at each target; `ends` asks source and target where nothing is known. `reasons` decides
what to say of that, and `answer` puts it together. `inventory` does the same for all tables, page by page (`pysync
tables`).
"""

from pysync.sidecar.why.answer import Why, why_offline
from pysync.sidecar.why.ends import EndsReader
from pysync.sidecar.why.inventory import Inventory

__all__ = ["EndsReader", "Inventory", "Why", "why_offline"]
