"""Re-read requests: messages that have an object read again by clusters which replicate to each other. Pure.

A request must get through whether its object exists or not. So it is a function that is created in `default` and
dropped at once: its class name says which object is meant, and which path the request has taken (docs/both-ways.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import quoted

PLACE = "default"
"""The database of these functions: every metastore has it."""

_CLASS_PREFIX = "pysync.reread "
_NAME_PREFIX = "pysync_reread_"
_LONGEST_CHAIN = 4

REQUEST_NAME = re.compile(rf"{_NAME_PREFIX}[0-9a-f]{{16}}".encode())
"""The name of a request in the bytes of an event. Requests with the same content and path have the same name."""


@dataclass(frozen=True, slots=True)
class RereadRequest:
    """What to read again: a table, a function, or the definition of a database without its contents.

    Without a database: everything, because the cluster `home` may have lost changes.

    `home` is the object's home, as far as the sender knows it (""). `path` lists the clusters that sent this before, in
    order: with the home among them it brings the home's state, else it asks the home for it. Reading the object may
    find a conflict, which causes the next request. `chain_length` counts these; more than a few are a loop.
    """

    database: str
    table: str = ""
    function: str = ""
    home: str = ""
    path: Sequence[str] = ()
    chain_length: int = 1

    @property
    def is_within_limit(self) -> bool:
        """Whether it is no loop of clusters that take each other for the home."""
        return self.chain_length <= _LONGEST_CHAIN

    def as_function(self, sender: str) -> Any:
        """The hive.Function that carries it; requests of different senders have different names."""
        # Two clusters may send the same at once: with one name the second create would fail, and only one would arrive.
        text = json.dumps(asdict(self) | {"path": list(self.path)})
        name = _NAME_PREFIX + sha256(f"{sender} {text}".encode()).hexdigest()[:16]
        return hive.Function(name, PLACE, _CLASS_PREFIX + text, sender, hive.PrincipalType.USER, 0, 1, [])

    def attributes(self) -> dict[str, str]:
        """The attributes of the refresh that it asks for. The object may be absent by now."""
        names = {"database": self.database, "table": self.table, "function": self.function}
        return {key: name for key, name in names.items() if name} | {
            "reread": "true",
            "home": self.home,
            "absent": "true",
            "chain_length": str(self.chain_length),
        }


def is_request_name(function: str) -> bool:
    """Whether a function of that name is a re-read request, not a real function."""
    return function.lower().startswith(_NAME_PREFIX)


def is_reread_request(function: Any) -> bool:
    """Whether a hive.Function is a re-read request, not a real function."""
    return is_request_name(function.functionName) and str(function.className or "").startswith(_CLASS_PREFIX)


def request_of(function: Any) -> RereadRequest:
    """The request that a function carries. Raises ValueError if pysync did not create the function."""
    try:
        fields: Mapping[str, Any] = json.loads(str(function.className).removeprefix(_CLASS_PREFIX))
        names = {key: str(fields[key]) for key in ("database", "table", "function", "home")}
        path, chain_length = tuple(map(str, fields["path"])), int(fields["chain_length"])
        return RereadRequest(**names, path=path, chain_length=chain_length)
    except (TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"no re-read request of pysync: {quoted(str(function.className))}") from error
