"""Rule: what a rule of SSM (Smart Storage Manager) with the action hms-sync says.

    hms : name matches "db.*" | hms-sync -dest thrift://host:9083 -cascade -nameservice_rename "old new"

`hms :` may be missing. What pysync has no counterpart for is a warning; what cannot be read is an error with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pysync.base.errors import UsageError
from pysync.base.text import nearest, quoted
from pysync.metastore.addresses import parse_addresses
from pysync.setup.rule_text import Text, Word, joined, parted

ACTION = "hms-sync"
_DEST, _CASCADE, _RENAME = "-dest", "-cascade", "-nameservice_rename"
_INCLUDE, _EXCLUDE = "-include", "-exclude"
_FORM = 'write hms : name matches "db.*" | hms-sync -dest thrift://host:9083'
_NAME_FORM = 'write name matches "db.*", with * and ? as wildcards'
_HEAD = re.compile(r"""(?P<object>[A-Za-z]\w*)\s*(?P<filter>with\b[^:|"']*)?:""", re.IGNORECASE)
_NAME = re.compile(r"[\w*?-]+(?:\.[\w*?-]+)?")
_ODD = re.compile(r"[^\w*?.-]")
_NAMESERVICE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?::\d+)?")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule says. `include` and `exclude` are patterns as pysync.toml has them.

    `rename` are the old and the new nameservice. `warnings` name what has no counterpart, and is not taken over.
    """

    text: str
    destination: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    cascade: bool = False
    rename: tuple[str, str] | None = None
    suppresses_drops: bool = False
    warnings: tuple[str, ...] = ()


def parse_rules(text: Text) -> list[Rule]:
    """The rules in the text, in order. Raises UsageError with line, column and a hint if one cannot be read."""
    rules = [_Reading(text).rule(begin, end) for begin, end in text.rules()]
    if not rules:
        raise text.unread(0, "there is no rule", _FORM)
    return rules


@dataclass(slots=True)
class _Reading:
    """Reads one rule, and collects its warnings."""

    source: Text
    warnings: list[str] = field(default_factory=list)

    def rule(self, begin: int, end: int) -> Rule:
        """The rule between these places."""
        parts = parted(self.source.words(self._behind_head(begin, end), end), "|")
        if len(parts) not in {2, 3}:
            what = "the rule has no action" if len(parts) == 1 else "the rule has more than three parts"
            raise self.source.unread(end if len(parts) == 1 else parts[3][0].at if parts[3] else end, what, _FORM)
        if len(parts) == 3:
            self._leave_out("the trigger", parts[0], "pysync applies each change as it comes")
        include, exclude = self._names(parts[-2], parts[-1][0].at if parts[-1] else end)
        options = self._options(self._action(parts[-1], end))
        destination = self._destination(options, end)
        return Rule(
            joined(self.source.words(begin, end)),
            destination,
            include,
            exclude,
            cascade=_CASCADE in options,
            rename=self._rename(options),
            suppresses_drops=self._suppresses_drops(options),
            warnings=tuple(self.warnings),
        )

    def _leave_out(self, what: str, words: Sequence[Word], why: str) -> None:
        self.warnings.append(f"{what} {joined(words) or '(empty)'} is NOT taken over: {why}.")

    def _behind_head(self, begin: int, end: int) -> int:
        """Where the conditions begin, or the trigger. Raises UsageError for rules of other objects than hms."""
        head = _HEAD.match(self.source.content, begin, end)
        if head is None:
            return begin
        if head["object"].lower() != "hms":
            what = f"a rule of {quoted(head['object'])} does not replicate a metastore"
            raise self.source.unread(begin, what, "only rules of the object hms can be read")
        if head["filter"]:
            at = head.start("filter")
            raise self.source.unread(at, "a filter after hms cannot be read", "put it into the conditions")
        return head.end()

    # --- conditions

    def _names(self, words: list[Word], end: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The patterns of names that the rule includes and excludes."""
        include, exclude = list[str](), list[str]()
        ways = [word for word in words if word.is_any_of("and", "or")]
        if len({way.text.lower() for way in ways}) > 1:
            raise self.source.unread(ways[1].at, "and together with or cannot be read", "write a rule for each name")
        is_or = bool(ways) and ways[0].is_any_of("or")
        for term in _terms(words):
            is_not = bool(term) and term[0].is_any_of("not")
            if (name := self._name(term[1:] if is_not else term, term, end, is_or)) is None:
                continue
            if (is_not and is_or) or (not is_not and include and not is_or):
                what = "include and exclude of pysync.toml cannot say this"
                raise self.source.unread(term[0].at, what, "join names with or, and exclusions with and not")
            (exclude if is_not else include).append(name)
        if not include and not exclude:
            raise self.source.unread(words[0].at if words else end, "the rule has no condition on the name", _NAME_FORM)
        return tuple(dict.fromkeys(include)), tuple(dict.fromkeys(exclude))

    def _name(self, term: list[Word], whole: list[Word], end: int, is_or: bool) -> str | None:
        """The pattern of a condition on the name; None for another condition, which is left out."""
        if not term:
            raise self.source.unread(whole[0].at if whole else end, "a condition is missing", _NAME_FORM)
        bracket = next((word for word in whole if word.is_any_of("(", ")")), None)
        if bracket is not None:
            raise self.source.stray(bracket, "write the conditions without parentheses")
        if not term[0].is_any_of("name"):
            if is_or or nearest(term[0].text, ["name"]):
                raise self.source.stray(term[0], _NAME_FORM)
            self._leave_out("the condition", whole, "names alone decide what the target takes, so it may take more")
            return None
        if len(term) < 3:
            raise self.source.unread(term[-1].at, "the condition is not complete", _NAME_FORM)
        if not term[1].is_any_of("matches", "=="):
            raise self.source.stray(term[1], _NAME_FORM)
        if not term[2].is_string or len(term) > 3:
            raise self.source.stray(term[2] if not term[2].is_string else term[3], _NAME_FORM)
        return self._pattern(term[2], is_plain=term[1].is_any_of("=="))

    def _pattern(self, word: Word, *, is_plain: bool) -> str:
        """The pattern as `include` has it: it reads *, ? and the dot as SSM does."""
        name = word.text.strip()
        at = word.at + 1 + len(word.text) - len(word.text.lstrip())
        odd = _ODD.search(name)
        if odd is not None or (is_plain and re.search(r"[*?]", name)):
            what = f"the name {quoted(name)} cannot be a pattern of include"
            raise self.source.unread(at + (odd.start() if odd else 0), what, "use letters, digits, _, -, * and ?")
        if not _NAME.fullmatch(name):
            raise self.source.unread(at, f"{quoted(name)} is neither db nor db.table", _NAME_FORM)
        if "." not in name and not name.endswith("*"):
            self.warnings.append(
                f"{name} has no dot: pysync takes databases of that name with everything in them, SSM only objects "
                "whose whole name is this."
            )
        return name

    # --- the action

    def _action(self, words: list[Word], end: int) -> list[Word]:
        """The words of hms-sync; other actions are left out."""
        actions = [it for it in parted(words, ";") if it]
        matching = [it for it in actions if it[0].is_any_of(ACTION)]
        if not matching:
            where = words[0].at if words else end
            what = f"{quoted(words[0].text)} is not {ACTION}" if words else "the rule has no action"
            raise self.source.unread(where, what, _FORM)
        if len(matching) > 1:
            raise self.source.unread(matching[1][0].at, f"a second {ACTION} in one rule", "write a rule for each")
        for other in (it for it in actions if it is not matching[0]):
            self._leave_out("the action", other, f"pysync does what {ACTION} does")
        return matching[0]

    def _options(self, words: list[Word]) -> dict[str, list[Word]]:
        """The known options of the action with their values; the option itself comes first."""
        options: dict[str, list[Word]] = {}
        for given in self._given(words[1:]):
            option = given[0].option
            if option in options:
                raise self.source.unread(given[0].at, f"{option} is given twice", "write it once")
            if option not in {_DEST, _CASCADE, _RENAME, _INCLUDE, _EXCLUDE}:
                self._leave_out("the option", given, "pysync does not know it")
                continue
            self._check_number(given)
            options[option] = given
        return options

    def _given(self, words: list[Word]) -> Iterator[list[Word]]:
        """Each option with the words behind it."""
        given: list[Word] = []
        for word in words:
            if word.option:
                if given:
                    yield given
                given = [word]
            elif given and not word.is_any_of("(", ")"):
                given.append(word)
            else:
                raise self.source.stray(word, _FORM)
        if given:
            yield given

    def _check_number(self, given: list[Word]) -> None:
        """Raise UsageError if an option has no value, or words too many."""
        option = given[0].option
        most = {_CASCADE: 0, _RENAME: 2}.get(option, 1)
        if most and len(given) == 1:
            raise self.source.unread(given[0].at, f"{option} has no value", _value_of(option))
        if len(given) - 1 > most:
            raise self.source.stray(given[most + 1], _value_of(option))

    def _destination(self, options: dict[str, list[Word]], end: int) -> str:
        if _DEST not in options:
            raise self.source.unread(end, f"{ACTION} has no {_DEST}", _value_of(_DEST))
        word = options[_DEST][1]
        try:
            return ",".join(map(str, parse_addresses(word.text)))
        except UsageError as error:
            raise self.source.unread(word.at, error.message, error.hint or _value_of(_DEST)) from error

    def _rename(self, options: dict[str, list[Word]]) -> tuple[str, str] | None:
        """The old and the new nameservice, written "old new" or old=new."""
        if _RENAME not in options:
            return None
        words = options[_RENAME][1:]
        names = " ".join(word.text for word in words).replace("=", " ").split()
        if len(names) != 2 or not all(map(_NAMESERVICE.fullmatch, names)):
            shown = quoted(" ".join(word.text for word in words))
            raise self.source.unread(words[0].at, f"{shown} are not two nameservices", _value_of(_RENAME))
        return names[0], names[1]

    def _suppresses_drops(self, options: dict[str, list[Word]]) -> bool:
        """Whether the rule leaves drops out. Its other limits on kinds of events are left out."""
        for option in (_INCLUDE, _EXCLUDE):
            if option in options:
                why = 'if it leaves DROP out, the target gets drops = "suppress"; for other kinds set exclude_kinds'
                self._leave_out("the option", options[option], why)
        dropped = {option: "DROP" in _kinds(options.get(option, ())) for option in (_INCLUDE, _EXCLUDE)}
        return dropped[_EXCLUDE] or (_INCLUDE in options and not dropped[_INCLUDE])


def _terms(words: Sequence[Word]) -> list[list[Word]]:
    """The conditions between `and` or `or`."""
    terms: list[list[Word]] = [[]]
    for word in words:
        if word.is_any_of("and", "or"):
            terms.append([])
        else:
            terms[-1].append(word)
    return terms


def _kinds(given: Sequence[Word]) -> set[str]:
    """The kinds of events that -include and -exclude name, in upper case."""
    return {kind.strip().upper() for word in given[1:] for kind in word.text.split(",")}


def _value_of(option: str) -> str:
    """How an option is written."""
    forms = {
        _DEST: f"write {_DEST} thrift://host:9083",
        _CASCADE: f"{_CASCADE} has no value: leave the word out",
        _RENAME: f'write {_RENAME} "old new"',
    }
    return forms.get(option, f"write {option} CREATE,ALTER")
