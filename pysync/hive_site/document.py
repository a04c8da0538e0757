"""A hive-site.xml that somebody else wrote: its properties, as Hadoop reads them, and where each stands.

Hadoop takes the last of several properties of one name, unless an earlier one is `<final>true</final>`, and cuts white
space off names (org.apache.hadoop.conf.Configuration). No entity is expanded and no other file is read.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.parsers import expat

from pysync.errors import UsageError

BEGIN = "pysync: begin (pysync uninstall removes this block)"
END = "pysync: end"

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SPACE = b" \t\r\n"

Span = tuple[int, int]
"""From, and to just behind, in bytes of `Document.data`."""


@dataclass(frozen=True, slots=True)
class Property:
    """One `<property>`; its value is None where it has none, and an empty one is none to Hadoop."""

    name: str
    value: str | None
    is_final: bool
    span: Span
    content: Span | None  # of what is within <value>; None: it is an attribute (Hadoop 3), or there is none


@dataclass(frozen=True, slots=True)
class Document:
    """The file: `data` is its text in UTF-8, without a byte order mark."""

    data: bytes
    bom: bytes
    codec: str
    properties: tuple[Property, ...]
    includes: tuple[str, ...]  # what xi:include elements name
    root: Span  # of the end tag of <configuration>, or of the whole element if that is <configuration/>
    block: tuple[Span, Span] | None  # the comments around what pysync added

    def effective(self) -> dict[str, Property]:
        """The property that counts, by name. One without a value counts where it is final: then no other does."""
        found = dict[str, Property]()
        for it in self.properties:
            before = found.get(it.name)
            if before is None or not before.is_final:
                if it.value is not None or (it.is_final and before is None):
                    found[it.name] = it
                elif it.is_final and before:
                    found[it.name] = replace(before, is_final=True)
        return found

    def values(self) -> dict[str, str]:
        """What Hadoop would read, by name, without white space around it."""
        return {name: it.value.strip() for name, it in self.effective().items() if it.value is not None}

    def before(self, at: int) -> int:
        """Where the white space in front of a place begins."""
        return len(self.data[:at].rstrip(_SPACE))

    def indent(self) -> str:
        """How far the properties are indented."""
        if not self.properties:
            return "  "
        start = self.properties[0].span[0]
        line = self.data[self.data.rfind(b"\n", 0, start) + 1 : start]
        return "" if line.strip(_SPACE) else line.decode("utf-8")

    def line_end(self) -> str:
        """What its lines end with."""
        last = self.data.rfind(b"\n")
        return "\r\n" if self.data[max(last - 1, 0) : last] == b"\r" else "\n"

    def is_in_block(self, it: Property) -> bool:
        """Whether pysync added it."""
        return self.block is not None and self.block[0][1] <= it.span[0] < self.block[1][0]

    def encoded(self, data: bytes) -> bytes:
        """The bytes of a file with this text, in the encoding of this one; what that lacks becomes `&#…;`."""
        return self.bom + data.decode("utf-8").encode(self.codec, "xmlcharrefreplace")


def parse(content: bytes, name: str) -> Document:
    """Read the content of the file `name`. UsageError, with line and column, where it is not a hive-site.xml."""
    bom, codec = next(((bom, codec) for bom, codec in _BOMS if content.startswith(bom)), (b"", ""))
    try:
        codec = codec or _declared(content)
        data = content[len(bom) :].decode(codec).encode("utf-8")
        found = _Reader(data).read()
    except expat.ExpatError as error:
        why = f"{name}:{error.lineno}:{error.offset + 1}: {expat.ErrorString(error.code)}"
        raise UsageError(why, "repair the XML; nothing was changed") from error
    except (LookupError, ValueError) as error:
        raise UsageError(f"cannot read the encoding of {name}: {error}", "nothing was changed") from error
    document = Document(data, bom, codec, tuple(found.properties), tuple(found.includes), found.root, found.block())
    if found.root_name != "configuration":
        raise UsageError(f"{name} is not a hive-site.xml: its root is <{found.root_name}>", "name another file")
    if document.encoded(data) != content:
        raise UsageError(f"{name} cannot be written in its encoding {codec} without changes", "nothing was changed")
    return document


def _declared(content: bytes) -> str:
    """The encoding that the XML declaration names. Raises ExpatError where anything in it is malformed."""
    found = ["utf-8"]
    parser = expat.ParserCreate()
    parser.XmlDeclHandler = lambda _version, encoding, _standalone: found.append(encoding or "utf-8")
    parser.DefaultHandler = lambda _data: None  # or entities would be expanded
    parser.Parse(content, True)
    return codecs.lookup(found[-1]).name


@dataclass(slots=True)
class _Element:
    name: str  # without its prefix
    start: int
    inside: int | None = None  # where its content begins


class _Reader:
    """One pass of expat. The end of a token is where the next one begins, so every token has a handler."""

    def __init__(self, data: bytes) -> None:
        self.properties = list[Property]()
        self.includes = list[str]()
        self.root: Span = (0, 0)
        self.root_name = ""
        self._data = data
        self._open = list[_Element]()
        self._markers = dict[str, Span]()
        self._fields = dict[str, tuple[str, Span | None]]()
        self._text = list[str]()
        self._parser = expat.ParserCreate("utf-8")

    def read(self) -> _Reader:
        parser = self._parser
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.DefaultHandler = self._characters, self._other
        parser.CommentHandler = self._comment
        parser.Parse(self._data, True)
        return self

    def block(self) -> tuple[Span, Span] | None:
        begin, end = (self._markers.get(it) for it in (BEGIN, END))
        return (begin, end) if begin and end and begin[1] <= end[0] else None

    def _at(self) -> int:
        """Where the token at hand begins; the start tag before it, if it was one, ends there."""
        at = self._parser.CurrentByteIndex
        if self._open and self._open[-1].inside is None:
            self._open[-1].inside = at
        return at

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        at, local = self._at(), name.rpartition(":")[2]
        self.root_name = self.root_name or local
        self._open.append(_Element(local, at))
        self._text.clear()
        if local == "property":
            self._fields = {key: (value, None) for key, value in attributes.items()}
        elif local == "include":
            self.includes.append(attributes.get("href", ""))

    def _end(self, _name: str) -> None:
        at = self._at()
        element = self._open.pop()
        inside = at if element.inside is None else element.inside
        is_empty = inside == at and self._data[at - 2 : at] == b"/>"
        end = at if is_empty else self._data.index(b">", at) + 1
        if element.name == "property":
            self._take((element.start, end))
        elif self._open and self._open[-1].name == "property":
            self._fields[element.name] = ("".join(self._text), None if is_empty else (inside, at))
        if not self._open:
            self.root = (element.start, end) if is_empty else (at, end)

    def _take(self, span: Span) -> None:
        name, _ = self._fields.get("name", ("", None))
        value, content = self._fields.get("value", (None, None))
        is_final = self._fields.get("final", ("", None))[0] == "true"
        self.properties.append(Property(name.strip(), value or None, is_final, span, content))
        self._fields = {}

    def _characters(self, text: str) -> None:
        self._at()
        self._text.append(text)

    def _other(self, text: str) -> None:
        self._at()
        if text.startswith("&"):  # an entity, which stays as it is written
            self._text.append(text)

    def _comment(self, text: str) -> None:
        at = self._at()
        self._markers.setdefault(text.strip(), (at, self._data.index(b"-->", at) + 3))
