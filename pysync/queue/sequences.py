"""Which numbers were seen, as intervals: small while they come nearly in order, exact always."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter

_low = itemgetter(0)


class Sequences:
    """A set of whole numbers from 1, kept as sorted closed intervals that neither overlap nor touch.

    Not safe for threads. Memory and `add` grow with the number of holes, not of numbers.
    """

    __slots__ = ("_spans",)

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        """Begin with `spans`; raises ValueError if they are not sorted, disjoint and apart."""
        self._spans = [(low, high) for low, high in spans]
        end = -1
        for low, high in self._spans:
            if not end + 1 < low <= high:
                raise ValueError(f"the intervals are not sorted, or have no gaps between them: {self._spans}")
            end = high

    def add(self, number: int) -> bool:
        """Take `number` (from 1) in; False if it was there already."""
        if number < 1:
            raise ValueError(f"sequences begin at 1, not at {number}")
        at = bisect_right(self._spans, number, key=_low)
        if at and number <= self._spans[at - 1][1]:
            return False
        joins_left = at > 0 and self._spans[at - 1][1] == number - 1
        joins_right = at < len(self._spans) and self._spans[at][0] == number + 1
        low = self._spans[at - 1][0] if joins_left else number
        high = self._spans[at][1] if joins_right else number
        self._spans[at - joins_left : at + joins_right] = [(low, high)]
        return True

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._spans, number, key=_low)
        return at > 0 and number <= self._spans[at - 1][1]

    @property
    def count(self) -> int:
        """How many numbers are in."""
        return sum(high - low + 1 for low, high in self._spans)

    @property
    def highest(self) -> int:
        """The largest number, 0 if there is none."""
        return self._spans[-1][1] if self._spans else 0

    def spans(self) -> tuple[tuple[int, int], ...]:
        """The closed intervals, ascending."""
        return tuple(self._spans)

    def holes(self) -> tuple[tuple[int, int], ...]:
        """The closed intervals that are missing from 1 to `highest`, ascending."""
        ends = [0, *(high for _, high in self._spans)]
        return tuple((end + 1, low - 1) for end, (low, _) in zip(ends, self._spans, strict=False) if end + 1 < low)

    def copy(self) -> Sequences:
        """An equal set that changes on its own."""
        twin = Sequences()
        twin._spans = self._spans.copy()
        return twin

    def to_json(self) -> str:
        """As `[[1,57],[59,90]]`, which `from_json` reads."""
        return json.dumps(self._spans, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Sequences:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        try:
            return cls((low, high) for low, high in json.loads(text))
        except TypeError as error:
            raise ValueError(f"this is not a list of intervals: {text[:80]}") from error
