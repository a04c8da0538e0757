"""The text of hive-site.xml: what XML can hold comes back, the rest is refused."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pysync import hive_site
from pysync.base.errors import UsageError


def is_xml_char(char: str) -> bool:
    code = ord(char)
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000


def read(text: str) -> dict[str, str]:
    root = ElementTree.fromstring(text.encode())  # noqa: S314, our own text
    assert root.tag == "configuration"
    return {each.findtext("name", ""): each.findtext("value", "") for each in root.iterfind("property")}


xml_text = st.text().filter(lambda text: all(map(is_xml_char, text)))


@given(st.dictionaries(xml_text, xml_text, max_size=5))
def test_what_xml_can_hold_comes_back(properties: dict[str, str]) -> None:
    assert read(hive_site.to_xml(properties)) == properties


@given(st.text(), st.characters(), st.text())
def test_what_xml_cannot_hold_is_refused_by_the_name_of_the_setting(before: str, char: str, after: str) -> None:
    text = before + char + after
    assume(not all(map(is_xml_char, text)))
    with pytest.raises(UsageError, match=r"'hive\.x' has the character U\+"):
        hive_site.to_xml({"hive.x": text})


@pytest.mark.parametrize("code", [0x0, 0xB, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_the_edges_of_what_xml_cannot_hold(code: int) -> None:
    with pytest.raises(UsageError, match=f"U\\+{code:04X}"):
        hive_site.to_xml({"hive.x": chr(code)})


def test_writes_line_ends_and_letters_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "hive-site.xml"
    properties = {"a": "1\r\n2\r3\n4", "b": "<ü & \U0001f41d>", "c": "]]>", "d": "${user.name}"}
    hive_site.write(path, properties)
    assert read(path.read_text(encoding="utf-8")) == properties
    assert b"<value>${user.name}</value>" in path.read_bytes()
