"""An existing hive-site.xml: its properties, as Hadoop reads them, and the place of each in the file.

If a name occurs several times, Hadoop uses the last property, unless an earlier one is `<final>true</final>`. It strips
white space from names (org.apache.hadoop.conf.Configuration). The parser expands no entity and reads no other file.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.parsers import expat

from pysync.base.errors import UsageError

BEGIN = "pysync: begin (pysync uninstall removes this block)"
END = "pysync: end"

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SPACE = b" \t\r\n"

Span = tuple[int, int]
"""Start and end (exclusive), in bytes of `Document.data`."""


@dataclass(frozen=True, slots=True)
class Property:
    """One `<property>`. The value is None if it is missing or empty, as for Hadoop."""

    name: str
    value: str | None
    is_final: bool
    span: Span
    content: Span | None  # between <value> and </value>; None: an attribute (Hadoop 3), or no value


@dataclass(frozen=True, slots=True)
class Document:
    """The parsed file. `data` is its text in UTF-8, without a byte order mark."""

    data: bytes
    bom: bytes
    codec: str
    properties: tuple[Property, ...]
    includes: tuple[str, ...]  # the references of xi:include elements
    root: Span  # the end tag of <configuration>, or the whole element if it is <configuration/>
    block: tuple[Span, Span] | None  # the comments around what pysync added

    def effective(self) -> dict[str, Property]:
        """Return the property that Hadoop uses, by name. A final property without a value hides the others."""
        effective = dict[str, Property]()
        for it in self.properties:
            before = effective.get(it.name)
            if before is None or not before.is_final:
                if it.value is not None or (it.is_final and before is None):
                    effective[it.name] = it
                elif it.is_final and before:
                    effective[it.name] = replace(before, is_final=True)
        return effective

    def values(self) -> dict[str, str]:
        """Return the values that Hadoop reads, by name, without white space around them."""
        return {name: it.value.strip() for name, it in self.effective().items() if it.value is not None}

    def before(self, at: int) -> int:
        """Return the start of the white space before `at`."""
        return len(self.data[:at].rstrip(_SPACE))

    def indent(self) -> str:
        """Return the indentation of the properties."""
        if not self.properties:
            return "  "
        start = self.properties[0].span[0]
        line = self.data[self.data.rfind(b"\n", 0, start) + 1 : start]
        return "" if line.strip(_SPACE) else line.decode("utf-8")

    def line_end(self) -> str:
        """Return the line end of the file."""
        last = self.data.rfind(b"\n")
        return "\r\n" if self.data[max(last - 1, 0) : last] == b"\r" else "\n"

    def is_in_block(self, it: Property) -> bool:
        """Whether the property is in the block that pysync added."""
        return self.block is not None and self.block[0][1] <= it.span[0] < self.block[1][0]

    def encoded(self, data: bytes) -> bytes:
        """Encode a text like this file. Characters that the encoding lacks become references (`&#…;`)."""
        return self.bom + data.decode("utf-8").encode(self.codec, "xmlcharrefreplace")


def parse(content: bytes, name: str) -> Document:
    """Parse the content of the file `name`. Raises UsageError, with line and column, if it is no hive-site.xml."""
    bom, codec = next(((bom, codec) for bom, codec in _BOMS if content.startswith(bom)), (b"", ""))
    try:
        codec = codec or _declared(content)
        data = content[len(bom) :].decode(codec).encode("utf-8")
        reading = _Reader(data).read()
    except expat.ExpatError as error:
        why = f"{name}:{error.lineno}:{error.offset + 1}: {expat.ErrorString(error.code)}"
        raise UsageError(why, "repair the XML; nothing was changed") from error
    except (LookupError, ValueError) as error:
        raise UsageError(f"cannot read the encoding of {name}: {error}", "nothing was changed") from error
    document = Document(
        data,
        bom,
        codec,
        tuple(reading.properties),
        tuple(reading.includes),
        reading.root,
        reading.block(),
    )
    if reading.root_name != "configuration":
        raise UsageError(f"{name} is not a hive-site.xml: its root is <{reading.root_name}>", "name another file")
    if document.encoded(data) != content:
        raise UsageError(f"{name} cannot be written in its encoding {codec} without changes", "nothing was changed")
    return document


def _declared(content: bytes) -> str:
    """Return the encoding in the XML declaration. Raises ExpatError if the file is malformed."""
    encodings = ["utf-8"]
    parser = expat.ParserCreate()
    parser.XmlDeclHandler = lambda _version, encoding, _standalone: encodings.append(encoding or "utf-8")
    parser.DefaultHandler = lambda _data: None  # without it, entities are expanded
    parser.Parse(content, True)
    return codecs.lookup(encodings[-1]).name


@dataclass(slots=True)
class _Element:
    name: str  # without its prefix
    start: int
    inside: int | None = None  # the start of its content


class _Reader:
    """One pass of expat. A token ends where the next one begins, so every kind of token needs a handler."""

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
        """Return the start of the current token. If a start tag came before it, that tag ends here."""
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
        if text.startswith("&"):  # an entity; its text is kept
            self._text.append(text)

    def _comment(self, text: str) -> None:
        at = self._at()
        self._markers.setdefault(text.strip(), (at, self._data.index(b"-->", at) + 3))
