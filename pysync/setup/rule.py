"""Rules of SSM's hms-sync: their text, what they mean, and the pysync.toml of the same meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pysync.base.errors import UsageError
from pysync.base.text import nearest, plain, quoted, toml_string
from pysync.metastore.addresses import parse_addresses

# --- Rule text: the rules in a text, and the words of a rule, each with its place. Pure

_WORD = re.compile(r"""\s*(?:(?P<string>"[^"\n]*"|'[^'\n]*')|(?P<mark>[|;()])|(?P<bare>[^\s|;()"']+)|(?P<open>["']))""")
_MARKS = frozenset("|;()")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a rule: its text without quotes, whether it had any, and where it begins in the text (0: the first)."""

    text: str
    at: int
    is_string: bool = False

    @property
    def option(self) -> str:
        """The option that it is, with its hyphen; "" if it is none."""
        return self.text if self.text.startswith("-") and len(self.text) > 1 and not self.is_string else ""

    def is_any_of(self, *words: str) -> bool:
        """Whether it is one of these words, in any case, and not in quotes."""
        return not self.is_string and self.text.lower() in words

    def __str__(self) -> str:
        return f'"{self.text}"' if self.is_string else self.text


@dataclass(frozen=True, slots=True)
class Text:
    """A text with rules, and the name of its file, if it has one."""

    content: str
    name: str = ""

    def unread(self, at: int, what: str, hint: str) -> UsageError:
        """The error for what cannot be read there, with line and column, both from 1."""
        line = self.content.count("\n", 0, at) + 1
        column = at - (self.content.rfind("\n", 0, at) + 1) + 1
        where = f"{plain(self.name)}: " if self.name else ""
        return UsageError(f"{where}line {line}, column {column}: {what}", hint)

    def rules(self) -> Iterator[tuple[int, int]]:
        """Where each rule begins and ends.

        A rule is a line. A line that is indented further than the first, or begins with |, continues the rule before.
        Lines that begin with # are comments.
        """
        begin, end, indent, at = -1, -1, 0, 0
        for line in self.content.splitlines(keepends=True):
            bare = line.strip()
            inset = len(line) - len(line.lstrip())
            if bare and not bare.startswith("#"):
                if begin < 0 or (inset <= indent and not bare.startswith("|")):
                    if begin >= 0:
                        yield begin, end
                    indent, begin = (inset if begin < 0 else min(indent, inset)), at + inset
                end = at + len(line.rstrip())
            at += len(line)
        if begin >= 0:
            yield begin, end

    def words(self, begin: int, end: int) -> list[Word]:
        """The words between these places, without comment lines. Raises UsageError for a quote that does not end."""
        # Blanks instead of comments keep the places.
        shown = re.sub(r"(?m)^[ \t]*#.*$", lambda it: " " * len(it[0]), self.content[:end])
        words, at = list[Word](), begin
        while (match := _WORD.match(shown, at)) is not None:
            place, at = match.start(match.lastgroup or 0), match.end()
            if match["open"]:
                raise self.unread(place, "the quote does not end", 'write the name in quotes, as in "db.*"')
            text = match["string"]
            words.append(Word(text[1:-1] if text else match[0].strip(), place, is_string=text is not None))
        return words

    def stray(self, word: Word, hint: str) -> UsageError:
        """The error for a word that has no meaning where it is."""
        return self.unread(word.at, f"{quoted(word.text)} is not understood here", hint)


def parted(words: Sequence[Word], mark: str) -> list[list[Word]]:
    """The words between the marks, in order; one list more than there are marks."""
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.is_any_of(mark):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def joined(words: Sequence[Word]) -> str:
    """The words as one line, as they were written but for blanks."""
    return plain(" ".join(map(str, words)))


# --- Rule: what a rule of SSM (Smart Storage Manager) with the action hms-sync says.
#
#     hms : name matches "db.*" | hms-sync -dest thrift://host:9083 -cascade -nameservice_rename "old new"
#
# `hms :` may be missing. What pysync has no counterpart for is a warning; what cannot be read is an error with its
# place.

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


# --- Rule conf: a pysync.toml from rules of SSM with the action hms-sync, and what becomes different

_NO_LABEL = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Imported:
    """The text of a pysync.toml, and the warnings in it: what was not taken over."""

    text: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Target:
    """A target, the rules that it comes from, and what it takes."""

    name: str
    rule: Rule
    include: tuple[str, ...]
    texts: tuple[str, ...] = field(default=())


def import_rules(text: Text, source: str) -> Imported:
    """A pysync.toml that does what the rules did, headed by what is different.

    Rules that differ only in the names they take become one target. Raises UsageError if a rule cannot be read.
    """
    rules = parse_rules(text)
    targets = _targets(rules)
    warnings = tuple(_warnings(rules))
    head = [f"# From rules of SSM's {ACTION} by `pysync import-rule`. Differences:", "#"]
    notes = [f"# - {line}" for line in (*(f"WARNING: {it}" for it in warnings), *_notes(rules))]
    lines = [*head, *notes, "", "[source]", f"name = {toml_string(source)}"]
    for target in targets:
        lines += ["", *_section(target)]
    return Imported("\n".join([*lines, ""]), warnings)


def _targets(rules: Iterable[Rule]) -> list[_Target]:
    targets: dict[object, _Target] = {}
    for number, rule in enumerate(rules):
        # An exclude is for the names of its own rule only.
        key = number if rule.exclude else (rule.destination, rule.cascade, rule.rename, rule.suppresses_drops)
        there = targets.get(key)
        if there is None:
            name = _name_of(rule.destination, {it.name for it in targets.values()})
            targets[key] = _Target(name, rule, rule.include, (rule.text,))
        else:
            include = tuple(dict.fromkeys((*there.include, *rule.include)))
            targets[key] = replace(there, include=include, texts=(*there.texts, rule.text))
    return list(targets.values())


def _name_of(destination: str, taken: set[str]) -> str:
    """A name for the target, from its first address: the first label of the host, or the whole of an IP address."""
    host = parse_addresses(destination)[0].host
    label = host if re.fullmatch(r"[\d.]+|.*:.*", host) else host.partition(".")[0]
    name = _NO_LABEL.sub("-", label).strip("-_")[:_LONGEST_NAME] or "dr"
    return next(it for it in (name, *(f"{name}-{at}" for at in range(2, len(taken) + 3))) if it not in taken)


def _section(target: _Target) -> list[str]:
    rule = target.rule
    lines = [*(f"# {text}" for text in target.texts), "[[targets]]"]
    lines += [f"name = {toml_string(target.name)}", 'kind = "hms"', f"metastore = {toml_string(rule.destination)}"]
    lists = {"include": target.include, "exclude": rule.exclude}
    lines += [f"{key} = [{', '.join(map(toml_string, them))}]" for key, them in lists.items() if them]
    lines += [f"cascade = {str(rule.cascade).lower()}", 'on_conflict = "park"']
    lines += ['drops = "suppress"'] if rule.suppresses_drops else []
    if rule.rename is not None:
        old, new = (toml_string(f"hdfs://{name}") for name in rule.rename)
        lines.append(f"locations = {{ {old} = {new} }}")
    return lines


def _warnings(rules: Sequence[Rule]) -> Iterator[str]:
    """What a person must decide before the first start."""
    yield from dict.fromkeys(it for rule in rules for it in rule.warnings)
    yield f"{ACTION} finds the source in the settings of SSM: set [source] metastore."


def _notes(rules: Sequence[Rule]) -> Iterator[str]:
    yield "Stop the rules in SSM before you start the sidecar. If both write a table, they overwrite each other."
    yield "The source needs the listener in hive-site.xml (`pysync hive-site`), and a restart of HMS. With [source]"
    yield '  capture = "notification-log" pysync reads the log that SSM reads instead.'
    yield "Tables that SSM created at the target have no mark of pysync. Their events are parked until you set"
    yield '  on_conflict = "adopt", which takes them over.'
    if any(not rule.cascade for rule in rules):
        yield "A rule without -cascade: cascade = false parks the drop of a database that has tables at the target."
        yield "  From the listener, a DROP DATABASE ... CASCADE at the source is one such drop."
    if any(rule.cascade for rule in rules):
        yield "A rule with -cascade: the drop of a database takes only tables that this source has written. With others"
        yield "  in it the database stays."
    if any(rule.rename for rule in rules):
        yield "locations change hdfs://NAMESERVICE at the beginning of a location, and in the properties that hold one."
        yield "  Locations of other file systems stay. Data files are copied only with copy = true."
    yield "A refused change is parked and retried (pysync parked list). No failure is passed over."
