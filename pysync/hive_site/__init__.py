"""hive-site.xml, the configuration file of Hive: a `<configuration>` of `<property>` elements with name and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from pysync.base.errors import UsageError

# Everything but Char of XML 1.0 (https://www.w3.org/TR/xml/#charsets).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A parser turns \r and \r\n into \n, unless they are written as character references.
_KEPT = {"\r": "&#13;"}


def to_xml(properties: Mapping[str, str]) -> str:
    """Return the text of a hive-site.xml with these properties, in this order.

    Hadoop replaces `${name}` in a value by that property, and strips white space from names but not from values.
    Raises UsageError, which names the property, for a character that XML cannot contain.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>"]
    for name, value in properties.items():
        lines += ["  <property>", f"    {element('name', name, name)}"]
        lines += [f"    {element('value', value, name)}", "  </property>"]
    return "\n".join([*lines, "</configuration>", ""])


def write(path: Path, properties: Mapping[str, str]) -> None:
    """Write the properties to a file, in UTF-8."""
    path.write_text(to_xml(properties), encoding="utf-8", newline="\n")


def element(tag: str, text: str, setting: str) -> str:
    """Return `<tag>text</tag>`, escaped. Raises UsageError, which names the property, for a forbidden character."""
    bad = _NOT_XML.search(text)
    if bad:
        raise UsageError(
            f"the setting {setting!r} has the character U+{ord(bad.group()):04X}, which XML cannot hold",
            "remove the character",
        )
    return f"<{tag}>{escape(text, _KEPT)}</{tag}>"
