"""Texts that make a regular expression take the most steps, made of its own tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.regex_steps import ONE_CHARACTER, compiled, constants, parser

_REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT}
_LOOKS = {constants.ASSERT, constants.ASSERT_NOT}
_LONG = 64  # rounds of a repeat, from which it matters
_MOST_PUMPS = 4
_ALPHABET = " a0-_A./:\\'\"`<>(){}[],=;|#$@\n"


@dataclass(frozen=True, slots=True)
class Attack:
    """What a text begins with, what is repeated in it, and its end, which lets the search fail."""

    prefix: str
    pump: str
    end: str = ""

    def text(self, length: int) -> str:
        """A text of about this length."""
        rounds = max(length - len(self.prefix), 0) // len(self.pump)
        return self.prefix + self.pump * rounds + self.end


def long_repeats(pattern: re.Pattern[str]) -> int:
    """How many repeats it has which may take many rounds; one within another counts twice."""
    return sum(1 for _ in _Tree(pattern).repeats())


def attacks(pattern: re.Pattern[str]) -> list[Attack]:
    """For each long repeat: one start and many rounds, and many starts."""
    tree, made = _Tree(pattern), dict[Attack, None]()
    for prefix, body in tree.repeats():
        for pump in tree.pumps(body):
            for end in ("", "\0"):
                made[Attack(prefix, pump, end)] = None
                made[Attack("", prefix + pump, end)] = None
                made[Attack(prefix, prefix + pump, end)] = None
    return list(made)


class _Tree:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._flags = pattern.flags
        self._nodes = [*parser.parse(pattern.pattern, pattern.flags)]

    def repeats(self, nodes: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """The body of each long repeat, with a text that leads there."""
        nodes = self._nodes if nodes is None else nodes
        for at, (kind, value) in enumerate(nodes):
            here = prefix + self.example(nodes[:at])
            if kind in _REPEATS and value[1] > _LONG:
                yield here, value[2]
            for part in _parts(kind, value):
                yield from self.repeats([*part], here)

    def pumps(self, body: Any) -> list[str]:
        """Texts that are a round of a repeat."""
        nodes, made = [*body], [self.example(body)]
        singles = [it for it in _flat(nodes) if it[0] in ONE_CHARACTER]
        if len(nodes) == 1 or any(it[0] is constants.BRANCH for it in nodes):
            made += [char for it in singles for char in self._characters(it)]
        return list(dict.fromkeys(it for it in made if it))[: 2 * _MOST_PUMPS]

    def example(self, nodes: Any) -> str:
        """A short text that the nodes match."""
        return "".join(self._one_example(*node) for node in nodes)

    def _one_example(self, kind: Any, value: Any) -> str:
        if kind in ONE_CHARACTER:
            return next(iter(self._characters((kind, value))), "")
        if kind in _REPEATS:
            return self.example(value[2]) * value[0]
        if kind is constants.ASSERT and value[0] < 0:
            return self.example(value[1])
        return self.example(next(iter(_parts(kind, value)), ())) if kind not in _LOOKS else ""

    def _characters(self, node: Any) -> list[str]:
        kind, value = node
        named = [value] if kind is constants.LITERAL else []
        if kind is constants.IN:
            named = [it[1] if it[0] is constants.LITERAL else it[1][0] for it in value if it[0] in _NAMING]
        own = compiled(node, self._flags)
        return [it for it in dict.fromkeys([*_ALPHABET, *map(chr, named)]) if own.match(it)][: 3 * _MOST_PUMPS]


_NAMING = {constants.LITERAL, constants.RANGE}


def _parts(kind: Any, value: Any) -> list[Any]:
    """The sequences of nodes within a node."""
    if kind is constants.BRANCH:
        return list(value[1])
    if kind is constants.SUBPATTERN:
        return [value[3]]
    if kind in _REPEATS:
        return [value[2]]
    return [value[1]] if kind in _LOOKS else []


def _flat(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield node
        for part in _parts(*node):
            yield from _flat(part)
