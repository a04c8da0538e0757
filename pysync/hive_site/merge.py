"""Add the properties of pysync to a hive-site.xml, or remove them. No other byte changes.

New properties are in a block between two comments. A class is added to an existing list of listeners: HMS 3 and 4 read
`metastore.event.listeners`, and `hive.metastore.event.listeners` only if the first is not set (MetastoreConf.getVar);
HMS 2 reads only the second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pysync.base.errors import PysyncError, UsageError
from pysync.hive_site import element
from pysync.hive_site.document import BEGIN, END, Document, Property, Span, parse

LISTENERS = ("hive.metastore.event.listeners", "metastore.event.listeners")
PREFIX = "pysync."

_BY_HAND = "edit the property by hand; pysync hive-site prints what it needs"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """The change of one property. None: the property does not exist."""

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        """`NAME = NEW (was OLD)`."""
        was = f" (was {self.old})" if self.old else ""
        return f"remove {self.name}{was}" if self.new is None else f"{self.name} = {self.new}{was}"


@dataclass(frozen=True, slots=True)
class Edited:
    """The content of a file after an edit, and the properties that changed."""

    content: bytes
    changes: tuple[PropertyChange, ...]
    values: Mapping[str, str]  # all values that Hadoop reads


@dataclass(frozen=True, slots=True)
class _Edit:
    span: Span
    text: str = ""


def merge(document: Document, settings: Mapping[str, str], name: str) -> Edited:
    """Set these properties, and add missing classes to the list of listeners. Changes nothing if all are set.

    Raises UsageError for a property that cannot be edited, and PysyncError if anything else would change.
    """
    wanted = _wanted(document, settings)
    there, old = document.effective(), document.values()
    differing = {key: value for key, value in wanted.items() if old.get(key) != value}
    edits = [_set(document, there[key], value, name) for key, value in differing.items() if key in there]
    new = {key: value for key, value in differing.items() if key not in there}
    edits += [_block(document, new)] if new else []
    return _checked(document, edits, {**old, **wanted}, name)


def unmerge(document: Document, listener: str, name: str) -> Edited:
    """Remove the properties of pysync, and our class from the lists of listeners.

    Raises PysyncError if anything else would change.
    """
    edits, wanted = list[_Edit](), document.values()
    for it in document.properties:
        if it.name.startswith(PREFIX):
            edits.append(_Edit((document.before(it.span[0]), it.span[1])))
            wanted.pop(it.name, None)
        elif it.name in LISTENERS and listener in _listed(it.value or ""):
            edits.append(_unlisted(document, it, listener, name))
    for key in LISTENERS:
        if key in wanted:
            wanted[key] = _joined(it for it in _listed(wanted[key]) if it != listener)
    edits += [_Edit((document.before(start), end)) for start, end in document.block or ()]
    return _checked(document, edits, wanted, name)


def _wanted(document: Document, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the wanted properties under the names in the file. Lists of listeners keep their entries."""
    old, lists = document.values(), dict[str, str]()
    added = _listed(settings.get(LISTENERS[0], ""))
    for key in [it for it in LISTENERS if it in old] or LISTENERS[:1] if added else ():
        listed = _listed(old.get(key, ""))
        missing = [it for it in added if it not in listed]
        lists[key] = _joined([*listed, *missing]) if missing else old[key]
    return {**lists, **{key: it for key, it in settings.items() if key not in LISTENERS}}


def _listed(value: str) -> list[str]:
    return [it for it in map(str.strip, value.split(",")) if it]


def _joined(listeners: Iterator[str] | list[str]) -> str:
    return ",".join(listeners)


def _set(document: Document, it: Property, value: str, name: str) -> _Edit:
    """Return the edit that sets a property of the file to another value."""
    if it.content is None:
        raise UsageError(f"{name}: {it.name} has no <value> that can be changed", _BY_HAND)
    start, end = it.content
    raw = document.data[start:end].decode("utf-8")
    old = _listed(it.value or "")
    if it.name in LISTENERS and not (it.value or "").rstrip().endswith(","):
        return _appended(raw, start, _joined(_listed(value)[len(old) :]), is_first=not old)
    return _Edit(it.content, element("value", value, it.name)[len("<value>") : -len("</value>")])


def _appended(raw: str, start: int, added: str, *, is_first: bool) -> _Edit:
    """Return the edit that appends classes to a list. The old text is kept, also in a CDATA section."""
    if is_first:
        return _Edit((start, start), added)
    text = raw.rstrip()
    at = start + len(text.removesuffix("]]>").rstrip().encode() if text.endswith("]]>") else text.encode())
    return _Edit((at, at), f",{added}")


def _unlisted(document: Document, it: Property, listener: str, name: str) -> _Edit:
    """Return the edit that removes our class from a list. If we added the property, it is removed as a whole."""
    if it.content is None:
        raise UsageError(f"{name}: {it.name} has no <value> that can be changed", _BY_HAND)
    if document.is_in_block(it) and _listed(it.value or "") == [listener]:
        return _Edit((document.before(it.span[0]), it.span[1]))
    start, end = it.content
    ours = re.escape(listener)
    raw = document.data[start:end].decode("utf-8")
    match = re.search(rf",\s*{ours}(?![\w.$])|(?<![\w.$]){ours}\s*,\s*|(?<![\w.$]){ours}(?![\w.$])", raw)
    if match is None:
        raise UsageError(f"{name}: cannot find {listener} in the text of {it.name}", _BY_HAND)
    first, last = (start + len(raw[:at].encode()) for at in match.span())
    return _Edit((first, last))


def _block(document: Document, settings: Mapping[str, str]) -> _Edit:
    """Return the edit that adds properties to our block, which is at the end of the file."""
    indent, end = document.indent(), document.line_end()
    lines = [line for key, value in settings.items() for line in _lines(key, value, indent)]
    if document.block:
        at = document.before(document.block[1][0])
        return _Edit((at, at), "".join(f"{end}{line}" for line in lines))
    lines = [f"{indent}<!-- {BEGIN} -->", *lines, f"{indent}<!-- {END} -->"]
    text = "".join(f"{end}{line}" for line in lines)
    start, behind = document.root
    tag = document.data[start:behind].decode("utf-8")
    if tag.startswith("</"):
        at = document.before(start)
        return _Edit((at, at), text)
    opened = tag.removesuffix("/>").rstrip()
    return _Edit(document.root, f"{opened}>{text}{end}</{opened[1:].split()[0]}>")


def _lines(name: str, value: str, indent: str) -> Iterator[str]:
    inner = indent * 2 or "  "
    yield f"{indent}<property>"
    yield f"{inner}{element('name', name, name)}"
    yield f"{inner}{element('value', value, name)}"
    yield f"{indent}</property>"


def _checked(document: Document, edits: list[_Edit], wanted: Mapping[str, str], name: str) -> Edited:
    """Apply the edits and read the result again. Raises PysyncError if more than the `wanted` values changed."""
    data, rest = b"", 0
    for edit in sorted(edits, key=lambda it: it.span):
        data += document.data[rest : edit.span[0]] + edit.text.encode("utf-8")
        rest = edit.span[1]
    content = document.encoded(data + document.data[rest:])
    after, old = parse(content, name), document.values()
    new = after.values()
    if _normalized(new) != _normalized(wanted) or _others(after) != _others(document):
        raise PysyncError(f"cannot edit {name}: more than the properties of pysync would change", _BY_HAND)
    keys = [*dict.fromkeys([*old, *new])]
    changes = (PropertyChange(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))
    return Edited(content, tuple(changes), new)


def _normalized(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values without white space in lists of listeners, and without empty lists."""
    joined_lists = {key: _joined(_listed(it)) if key in LISTENERS else it for key, it in values.items()}
    return {key: it for key, it in joined_lists.items() if it or key not in LISTENERS}


def _others(document: Document) -> list[tuple[str, str | None, bool]]:
    """Return all other properties in order, with duplicates."""
    rest = (it for it in document.properties if it.name not in LISTENERS and not it.name.startswith(PREFIX))
    return [(it.name, it.value, it.is_final) for it in rest]
