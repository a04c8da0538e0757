"""hive-site.xml, the file which Hive reads its settings from: `<configuration>` of `<property>` of name and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from pysync.errors import UsageError

# What XML 1.0 calls Char (https://www.w3.org/TR/xml/#charsets), turned round.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A parser makes one \n of \r and of \r\n, unless they are written as references.
_KEPT = {"\r": "&#13;"}


def to_xml(properties: Mapping[str, str]) -> str:
    """The text of a hive-site.xml with these settings, in their order.

    Hadoop replaces `${name}` within a value by that setting, and cuts white space off names but not off values.
    UsageError for a character that XML cannot hold, which names the setting.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>"]
    for name, value in properties.items():
        lines += ["  <property>", f"    {element('name', name, name)}"]
        lines += [f"    {element('value', value, name)}", "  </property>"]
    return "\n".join([*lines, "</configuration>", ""])


def write(path: Path, properties: Mapping[str, str]) -> None:
    """Write the settings to a file, in UTF-8."""
    path.write_text(to_xml(properties), encoding="utf-8", newline="\n")


def element(tag: str, text: str, setting: str) -> str:
    """`<tag>text</tag>`, escaped. UsageError for a character that XML cannot hold, which names the setting."""
    bad = _NOT_XML.search(text)
    if bad:
        raise UsageError(
            f"the setting {setting!r} has the character U+{ord(bad.group()):04X}, which XML cannot hold",
            "remove the character",
        )
    return f"<{tag}>{escape(text, _KEPT)}</{tag}>"
