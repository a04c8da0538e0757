"""How many steps a search by a regular expression takes: its tree is walked by a matcher that counts, not by time.

It tries what `re` tries, in the same order, without what `re` does to be faster: so it counts no less.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _compiler as compiler
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_compile as compiler
    import sre_constants as constants
    import sre_parse as parser

ONE_CHARACTER = {constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN}
Groups = dict[int, tuple[int, int]]
Found = Iterator[tuple[int, Groups]]


def compiled(node: Any, flags: int) -> re.Pattern[str]:
    """The expression of one node of a tree."""
    tree = parser.SubPattern(parser.State(), [node])
    tree.state.flags = flags
    return compiler.compile(tree, flags)


@cache
def _tree(pattern: re.Pattern[str]) -> tuple[list[Any], dict[int, re.Pattern[str]]]:
    """The nodes of an expression, and those that were compiled so far, by id."""
    return [*parser.parse(pattern.pattern, pattern.flags)], {}


class TooManySteps(Exception):
    """A search has taken more steps than it may."""


class Steps:
    """Searches of one expression, counted in `count`. They end with TooManySteps after `most`."""

    def __init__(self, pattern: re.Pattern[str], most: int = sys.maxsize) -> None:
        self.count = 0
        self._most = most
        self._nodes, self._compiled = _tree(pattern)
        self._flags = pattern.flags

    def search_all(self, text: str) -> list[tuple[int, int]]:
        """The places of all matches, as `finditer` gives them."""
        found, at = [], 0
        while at <= len(text):
            end = next(self._from(self._nodes, 0, text, at, {}), None)
            if end is not None:
                found.append((at, end[0]))
            at = max(end[0], at + 1) if end is not None else at + 1
        return found

    def match(self, text: str) -> int | None:
        """Where the match at the beginning of the text ends, as that of `match`."""
        return next((end for end, _ in self._from(self._nodes, 0, text, 0, {})), None)

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text matches."""
        return any(end == len(text) for end, _ in self._from(self._nodes, 0, text, 0, {}))

    def _match(self, node: Any, text: str, at: int) -> re.Match[str] | None:
        """The match of a node that takes no wrong way: of one character, a place, or a repeat of one character."""
        if id(node) not in self._compiled:
            self._compiled[id(node)] = compiled(node, self._flags)
        return self._compiled[id(node)].match(text, at)

    def _count(self, steps: int = 1) -> None:
        self.count += steps
        if self.count > self._most:
            raise TooManySteps

    def _from(self, nodes: Any, first: int, text: str, at: int, groups: Groups) -> Found:
        if first == len(nodes):
            yield at, groups
            return
        for end, bound in self._one(nodes[first], text, at, groups):
            yield from self._from(nodes, first + 1, text, end, bound)

    def _one(self, node: Any, text: str, at: int, groups: Groups) -> Found:
        self._count()
        kind, value = node
        if kind in ONE_CHARACTER or kind is constants.AT:
            if self._match(node, text, at):
                yield at + (kind is not constants.AT), groups
        elif kind is constants.BRANCH:
            for branch in value[1]:
                yield from self._from(branch, 0, text, at, groups)
        elif kind is constants.SUBPATTERN:
            for end, bound in self._from(value[3], 0, text, at, groups):
                yield end, {**bound, value[0]: (at, end)} if value[0] else bound
        elif kind is constants.MAX_REPEAT and len(value[2]) == 1 and value[2][0][0] in ONE_CHARACTER:
            yield from self._repeat_character(node, text, at, groups)
        elif kind in {constants.MAX_REPEAT, constants.MIN_REPEAT}:
            yield from self._repeat(node, text, at, groups)
        elif kind in {constants.ASSERT, constants.ASSERT_NOT}:
            yield from self._look(node, text, at, groups)
        elif kind is constants.GROUPREF:
            begin, end = groups.get(value, (0, -1))
            if end >= begin and text.startswith(text[begin:end], at):
                yield at + end - begin, groups
        else:
            raise NotImplementedError(kind)

    def _look(self, node: Any, text: str, at: int, groups: Groups) -> Found:
        kind, (direction, nodes) = node
        begin = at if direction > 0 else at - nodes.getwidth()[0]
        found = next(self._from(nodes, 0, text, begin, groups), None) if begin >= 0 else None
        if (found is not None) == (kind is constants.ASSERT):
            yield at, found[1] if found else groups

    def _repeat_character(self, node: Any, text: str, at: int, groups: Groups) -> Found:
        longest = self._match(node, text, at)
        if longest is not None:
            self._count(longest.end() - at)
            for end in range(longest.end(), at + node[1][0] - 1, -1):
                yield end, groups

    def _repeat(self, node: Any, text: str, at: int, groups: Groups) -> Found:
        """Without recursion for each round: the ends of all rounds are a stack."""
        kind, (least, most, nodes) = node
        rounds = [iter([(at, groups)])]
        ends: list[tuple[int, Groups]] = []
        while rounds:
            found = next(rounds[-1], None)
            if found is None:
                rounds.pop()
                if ends:
                    end = ends.pop()
                    if kind is constants.MAX_REPEAT and len(ends) >= least:
                        yield end
                continue
            ends.append(found)
            if kind is constants.MIN_REPEAT and len(ends) - 1 >= least:
                yield found
            self._count()
            more = most == constants.MAXREPEAT or len(ends) - 1 < int(most)
            advanced = len(ends) < 2 or found[0] > ends[-2][0] or len(ends) - 1 < least
            rounds.append(self._from(nodes, 0, text, *found) if more and advanced else iter(()))
