"""Record: what the journal keeps of one operation, of one refused event, or of what a person did.

None of the values that a record shows is longer than a bound, and no secret is among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pysync.base.masking import HIDDEN, is_secret_field, masked
from pysync.base.text import shortened, shown
from pysync.model.difference import Difference

MOST_PARTITIONS = 10
"""Names of partitions in one record; `partition_count` counts all."""

OUTCOMES = (
    *("applied", "unchanged", "stale", "foreign", "conflict", "unsupported"),  # of pysync.targets.base.Outcome
    *("failed", "parked", "waits", "held", "kept", "shadowed", "done", "refused"),
)
"""What a record says of how it ended. The last two are of what people do."""

MOST_FIELDS = 20
"""Differences of one record."""
LONGEST_VALUE = 200
LONGEST_REASON = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record; times are seconds since 1970. `id` is 0 until it is written; later records have greater ones.

    `object` is the name at the target, `source_object` the one at the source; a rename has the names from before it in
    `former` and `source_former`. `operation` is the name of an operation (pysync.model.operation), the kind of an event
    that was parked, or what a person did. `committed_at` and `captured_at` are those of the last of its `events`.
    """

    at: float
    operation: str
    outcome: str
    target: str = ""
    object: str = ""
    source_object: str = ""
    former: str = ""
    source_former: str = ""
    partitions: tuple[str, ...] = ()
    partition_count: int = 0
    first_position: int | None = None
    last_position: int | None = None
    events: int = 0
    committed_at: float | None = None
    captured_at: float | None = None
    attempts: int = 1
    milliseconds: float | None = None
    reason: str | None = None
    differences: tuple[Difference, ...] = ()
    who: str | None = None
    id: int = 0

    @property
    def names(self) -> frozenset[str]:
        """The names by which it is found: its objects, former names included, and their databases."""
        return names_of(self.object, self.source_object, self.former, self.source_former)

    def as_json(self) -> dict[str, Any]:
        """As in docs/status.md; what is not known is null."""
        texts = ("target", "object", "source_object", "former", "source_former")
        plain: Mapping[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **plain,
            **{name: plain[name] or None for name in texts},
            "partitions": list(self.partitions),
            "differences": [{"field": it.field, "old": it.old, "new": it.new} for it in self.differences],
        }


def names_of(*objects: str) -> frozenset[str]:
    """The names of objects and of their databases; "" is none."""
    return frozenset({*objects, *(name.partition(".")[0] for name in objects)} - {""})


def reason_of(text: str | None) -> str | None:
    """A reason as a record keeps it; the end of a long one, such as a traceback, says the most."""
    if not text:
        return None
    text = masked(text)  # before it is cut: half a secret is not recognized
    if len(text) > LONGEST_REASON:
        half = LONGEST_REASON // 2
        text = f"{text[: half - 1]}…{text[-half:]}"
    return text


def bounded(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences as a record keeps them: texts or None, bounded in number and length, without secrets."""
    return tuple(
        Difference(shortened(it.field, LONGEST_VALUE), _value(it.field, it.old), _value(it.field, it.new))
        for it in islice(differences, MOST_FIELDS)
    )


def _value(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if is_secret_field(field):
        return HIDDEN
    text = value if isinstance(value, str) else shown(value)
    # Masked before it is cut: half a secret is not recognized.
    return shortened(masked(text[: 10 * LONGEST_VALUE]), LONGEST_VALUE)
