"""Edits of the `[[targets]]` tables in the text of a pysync.toml. Pure: a text in, the new text out.

Only the lines of what changes are touched. The result is read again, and has to say what was wanted, or the edit is
refused: a file may be written in ways that are not known here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pysync.base.errors import UsageError
from pysync.base.text import quoted, toml_string
from pysync.config_file.statements import Key, Statement, statements

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TARGETS = "targets"
_COMMENT = re.compile(r"[ \t]*#[^\n]*(\n|\Z)")
_EMPTY = re.compile(r"[ \t]*\r?\n")
_HEADER = re.compile(r"[ \t]*\[")


@dataclass(slots=True)
class _Section:
    """A header below a target, or that of the target itself (`name` is empty), with the keys in it."""

    name: Key
    header: Statement
    at: int  # the number of the header among all headers
    keys: list[Statement] = field(default_factory=list)

    @property
    def last(self) -> Statement:
        return self.keys[-1] if self.keys else self.header


def read(text: str) -> dict[str, Any]:
    """What the text says."""
    document: dict[str, Any] = tomllib.loads(text)
    return document


def number_of(text: str, name: str) -> int | None:
    """Which of the targets has this name; None if none has."""
    listed = read(text).get(_TARGETS, [])
    return next((at for at, it in enumerate(listed) if isinstance(it, dict) and it.get("name") == name), None)


def with_key(text: str, number: int, key: Key, value: Any) -> str:
    """The text with a key of a target set. Raises UsageError where this text does not allow it."""
    wanted = read(text)
    table = _table_of(wanted, number, key)
    if key[-1] in table and _same(table[key[-1]], value):
        return text
    table[key[-1]] = value
    edited = _replaced(text, number, key, wanted)
    if edited is None:
        edited = _inserted(_cut(text, _below(text, number, key)), number, key, value)
    return _checked(edited, wanted)


def without_key(text: str, number: int, key: Key) -> str:
    """The text without a key of a target; the same text where it has none. Raises UsageError as `with_key`."""
    wanted = read(text)
    table: Any = wanted[_TARGETS][number]
    for part in key[:-1]:
        table = table.get(part) if isinstance(table, dict) else None
    if not isinstance(table, dict) or key[-1] not in table:
        return text
    del table[key[-1]]
    edited = _replaced(text, number, key, wanted, itself=False)
    return _checked(_cut(text, _below(text, number, key)) if edited is None else edited, wanted)


def with_table(text: str, values: Mapping[str, Any]) -> str:
    """The text with one more target at its end. Raises UsageError as `with_key`."""
    wanted = read(text)
    wanted.setdefault(_TARGETS, []).append(dict(values))
    end = _line_end(text)
    lines = ["[[targets]]", *(f"{_shown((key,))} = {rendered(value)}" for key, value in values.items())]
    gap = "" if not text else end if text.endswith("\n") else end * 2
    return _checked(text + gap + "".join(line + end for line in lines), wanted)


def without_table(text: str, number: int) -> str:
    """The text without a target. Comments above its table stay. Raises UsageError as `with_key`."""
    wanted = read(text)
    del wanted[_TARGETS][number]
    if not wanted[_TARGETS]:
        raise UsageError("a pysync.toml needs at least one target", "first add another: pysync target add")
    spans = list(_runs(_sections(text, number)))
    return _checked(_cut(text, [_with_comments(text, *span) for span in spans]), wanted)


def rendered(value: Any) -> str:
    """A value as TOML has it, in one line. Raises UsageError for what no setting is: a date."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(rendered, value))}]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_shown((key,))} = {rendered(it)}" for key, it in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise UsageError(f"{quoted(str(value))} is no value of a setting")


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other  # 1 is not true


def _table_of(wanted: dict[str, Any], number: int, key: Key) -> dict[str, Any]:
    """The table that the last part of the key belongs into; what is missing on the way is made."""
    table = wanted[_TARGETS][number]
    for at, part in enumerate(key[:-1], 1):
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            whole = _shown(key[:at])
            raise UsageError(f"{whole} is not a table, so it has no key {quoted(key[at])}", f"first --unset {whole}")
    return table  # type: ignore[no-any-return]


def _sections(text: str, number: int) -> list[_Section]:
    """The sections of a target. Raises UsageError where the targets have no headers of their own."""
    sections: list[_Section] = []
    count, headers, section = -1, -1, None
    for it in statements(text):
        if it.is_header:
            headers += 1
            count += it.is_array and it.key == (_TARGETS,)
            is_ours = it.key[0] == _TARGETS and count == number
            section = _Section(it.key[1:], it, headers) if is_ours else None
            sections += [section] if section else []
        elif section:
            section.keys.append(it)
    if not sections:
        raise _by_hand("its targets are not written as [[targets]]")
    return sections


def _replaced(text: str, number: int, key: Key, wanted: Mapping[str, Any], *, itself: bool = True) -> str | None:
    """The text with the new value of the key (if `itself`), or of the inline table that it is in; None if neither."""
    for section in _sections(text, number):
        for it in section.keys:
            whole = (*section.name, *it.key)
            if it.value and whole == key[: len(whole)] and (itself or whole != key):
                value: Any = wanted[_TARGETS][number]
                for part in whole:
                    value = value[part]
                return text[: it.value[0]] + rendered(value) + text[it.value[1] :]
    return None


def _below(text: str, number: int, key: Key) -> list[tuple[int, int]]:
    """The lines of a key, and of all keys and tables below it."""
    spans = []
    for section in _sections(text, number):
        if section.name[: len(key)] == key:
            spans.append((section.header.start, section.last.end))
        else:
            own = (it for it in section.keys if (*section.name, *it.key)[: len(key)] == key)
            spans += [(it.start, it.end) for it in own]
    return spans


def _inserted(text: str, number: int, key: Key, value: Any) -> str:
    """The text with a line for the key, at the end of the section that is nearest to it."""
    fitting = [it for it in _sections(text, number) if not (it.name and it.header.is_array)]
    section = max((it for it in fitting if it.name == key[: len(it.name)] != key), key=lambda it: len(it.name))
    last, end = section.last, _line_end(text)
    indent = re.match(r"[ \t]*", text[last.start :])
    line = f"{indent[0] if indent else ''}{_shown(key[len(section.name) :])} = {rendered(value)}"
    is_open = not text[: last.end].endswith("\n")  # a file without a line feed at its end
    return text[: last.end] + (end + line if is_open else line + end) + text[last.end :]


def _runs(sections: list[_Section]) -> Iterator[tuple[int, int]]:
    """From where to where a target's sections go; more than one if other tables are between them."""
    first = last = sections[0]
    for section in sections[1:]:
        if section.at != last.at + 1:
            yield first.header.start, last.last.end
            first = section
        last = section
    yield first.header.start, last.last.end


def _with_comments(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with comments that follow it, unless they are about the next table, and the empty lines after it."""
    after = end
    while match := _COMMENT.match(text, after):
        after = match.end()
        if after == len(text):
            break
    if not _HEADER.match(text, after):
        end = after
    while text[:start].endswith(("\n\n", "\r\n\r\n")) and (empty := _EMPTY.match(text, end)):
        end = empty.end()
    if end == len(text):
        # The empty lines before it would be the last of the file.
        start -= len(text[:start]) - len(text[:start].rstrip("\r\n \t"))
        start = text.find("\n", start) + 1 if start else 0
    return start, end


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _shown(key: Key) -> str:
    return ".".join(it if re.fullmatch(r"[A-Za-z0-9_-]+", it) else toml_string(it) for it in key)


def _checked(text: str, wanted: Mapping[str, Any]) -> str:
    try:
        document = read(text)
    except tomllib.TOMLDecodeError as error:
        raise _by_hand("the result would be no TOML") from error
    if document != wanted:
        raise _by_hand("the result would say something else")
    return text


def _by_hand(why: str) -> UsageError:
    return UsageError(f"this file cannot be edited by a command: {why}", "edit it by hand, then: pysync reload")
