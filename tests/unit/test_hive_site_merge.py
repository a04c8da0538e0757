"""Our properties in a hive-site.xml that somebody else wrote: what is added, what stays, and that it goes again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pysync.base.errors import PysyncError, UsageError
from pysync.hive_site import merge as merge_room
from pysync.hive_site.document import BEGIN, END, parse
from pysync.hive_site.merge import Edited, merge, unmerge
from tests.support.hive_sites import APACHE, CDP, EMR, FORMS, OTHER

LISTENER = "org.pysync.listener.SidecarListener"
OLD, NEW = "hive.metastore.event.listeners", "metastore.event.listeners"
SETTINGS = {OLD: LISTENER, "pysync.source.name": "east", "pysync.spool.dir": "/var/lib/pysync/spool"}


def merged(content: bytes, settings: Mapping[str, str] = SETTINGS) -> Edited:
    return merge(parse(content, "x"), settings, "x")


def unmerged(content: bytes) -> Edited:
    return unmerge(parse(content, "x"), LISTENER, "x")


def values(content: bytes) -> dict[str, str]:
    return parse(content, "x").values()


def site(inside: str, root: str = "configuration") -> bytes:
    return f"<{root}>\n{inside}\n</{root}>\n".encode()


def one(name: str, value: str, more: str = "") -> str:
    return f"<property><name>{name}</name><value>{value}</value>{more}</property>"


def read(content: bytes) -> list[tuple[str, str]]:
    """The properties by another parser than ours."""
    root = ElementTree.fromstring(content)  # noqa: S314, our own text
    return [(it.findtext("name", "").strip(), it.findtext("value") or "") for it in root.iter("property")]


@pytest.mark.parametrize("form", FORMS)
def test_all_that_is_there_stays_and_every_line_of_it(form: str) -> None:
    before = FORMS[form].encode()
    after = merged(before).content
    kept = [line for line in before.splitlines(keepends=True) if line in after.splitlines(keepends=True)]
    assert len(before.splitlines()) - len(kept) <= 2  # the list of listeners, and an end of file that had no line end
    old = {key: it for key, it in values(before).items() if key not in {OLD, NEW}}
    assert {key: it for key, it in values(after).items() if key in old} == old
    assert values(after).items() >= {"pysync.source.name": "east", "pysync.spool.dir": "/var/lib/pysync/spool"}.items()


@pytest.mark.parametrize("form", FORMS)
def test_twice_is_once(form: str) -> None:
    first = merged(FORMS[form].encode())
    again = merged(first.content)
    assert (again.content, again.changes) == (first.content, ())


@pytest.mark.parametrize("form", FORMS)
def test_taken_out_again_it_is_as_before(form: str) -> None:
    before = FORMS[form].encode()
    after = unmerged(merged(before).content).content
    assert after == before
    assert (unmerged(after).content, unmerged(after).changes) == (after, ())


@pytest.mark.parametrize(
    ("form", "key", "listed"),
    [
        (APACHE, OLD, [LISTENER]),
        (EMR, OLD, [OTHER, LISTENER]),
        (CDP, NEW, ["com.example.audit.AuditListener", OTHER, LISTENER]),
    ],
)
def test_the_listener_joins_the_list_under_the_name_of_the_file(form: str, key: str, listed: list[str]) -> None:
    found = values(merged(form.encode()).content)
    assert [it.strip() for it in found[key].split(",")] == listed
    assert ({OLD, NEW} & found.keys()) == {key}


@pytest.mark.parametrize("empty", ["<value></value>", "<value/>", ""])
def test_an_empty_list_is_none_so_the_other_name_counts(empty: str) -> None:
    """To Hadoop an empty value is none: one of ours there would take the place of the other list."""
    before = site(f"<property><name>{NEW}</name>{empty}</property>{one(OLD, 'a.B')}")
    after = merged(before).content
    assert {key: it for key, it in values(after).items() if key in {OLD, NEW}} == {OLD: f"a.B,{LISTENER}"}
    assert unmerged(after).content == before


def test_of_two_lists_both_get_it_as_hive_2_and_3_read_different_ones() -> None:
    found = values(merged(site(one(OLD, "a.B") + one(NEW, "c.D"))).content)
    assert (found[OLD], found[NEW]) == (f"a.B,{LISTENER}", f"c.D,{LISTENER}")


def test_a_listener_that_is_there_stays_where_it_is() -> None:
    before = site(one(OLD, f"a.B, {LISTENER} ,c.D"))
    after = merged(before)
    assert values(after.content)[OLD] == f"a.B, {LISTENER} ,c.D"
    assert [it.name for it in after.changes] == ["pysync.source.name", "pysync.spool.dir"]


def test_one_whose_name_begins_as_ours_is_another() -> None:
    before = site(one(OLD, f"{LISTENER}2,x.{LISTENER}"))
    after = merged(before).content
    assert values(after)[OLD] == f"{LISTENER}2,x.{LISTENER},{LISTENER}"
    assert unmerged(after).content == before


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("  \n ", f"{LISTENER}  \n "),
        ("a.B ", f"a.B,{LISTENER} "),
        ("a.B,", f"a.B,{LISTENER}"),  # an empty name between two commas would keep HMS from its start
        (" , ", LISTENER),
        ("<![CDATA[a.B]]>", f"<![CDATA[a.B,{LISTENER}]]>"),  # Hadoop 2 reads no more than the first section
        ("a.B<!-- why -->", f"a.B<!-- why -->,{LISTENER}"),
        ("a&#46;B", f"a&#46;B,{LISTENER}"),
    ],
)
def test_a_list_is_added_to_as_it_is_written(text: str, after: str) -> None:
    found = merged(site(one(OLD, text))).content
    assert f"<value>{after}</value>".encode() in found


@pytest.mark.parametrize(
    ("properties", "key", "expected"),
    [
        (one("pysync.source.name", "a") + one("pysync.source.name", "b"), "pysync.source.name", ["a", "east"]),
        (
            one("pysync.source.name", "a", "<final>true</final>") + one("pysync.source.name", "b"),
            "pysync.source.name",
            ["east", "b"],
        ),
        (one(OLD, "a.B") + one(OLD, "c.D"), OLD, ["a.B", f"c.D,{LISTENER}"]),
    ],
)
def test_the_one_that_hadoop_takes_is_changed(properties: str, key: str, expected: list[str]) -> None:
    after = merged(site(properties)).content
    assert [value for name, value in read(after) if name == key] == expected


def test_a_value_that_differs_is_changed_and_told_with_what_it_was() -> None:
    after = merged(site(one("pysync.source.name", "we&lt;st") + one(OLD, LISTENER)))
    assert [str(it) for it in after.changes] == [
        "pysync.source.name = east (was we<st)",
        "pysync.spool.dir = /var/lib/pysync/spool",
    ]
    assert unmerged(after.content).content == b"<configuration>" + one(OLD, "").encode() + b"\n</configuration>\n"


def test_others_of_ours_are_not_touched_by_a_merge() -> None:
    after = merged(site(one("pysync.synchronous", "true"))).content
    assert values(after)["pysync.synchronous"] == "true"


def test_a_later_setting_goes_into_the_same_block() -> None:
    first = merged(site(""), {OLD: LISTENER}).content
    second = merged(first).content
    assert second.count(BEGIN.encode()) == second.count(END.encode()) == 1
    assert unmerged(second).content == site("")


@pytest.mark.parametrize("root", ["<configuration/>", "<configuration />", "<configuration></configuration>"])
def test_a_file_without_properties(root: str) -> None:
    assert values(merged(root.encode()).content)[OLD] == LISTENER
    assert values(unmerged(merged(root.encode()).content).content) == {}


def test_the_listeners_of_others_stay_in_a_list_that_we_made() -> None:
    first = merged(site("")).content.replace(LISTENER.encode(), f"a.B,{LISTENER}".encode())
    assert values(unmerged(first).content) == {OLD: "a.B"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "us-ascii", "windows-1252"])
def test_the_encoding_stays(encoding: str) -> None:
    named = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{named}"?>\r\n<configuration>\r\n<!-- grun -->\r\n</configuration>\r\n'
    text = text if encoding == "us-ascii" else text.replace("grun", "grün")
    after = merged(text.encode(encoding), {**SETTINGS, "pysync.x": "ü €"}).content
    assert dict(read(after))["pysync.x"] == "ü €"
    assert unmerged(after).content == text.encode(encoding)


def test_line_ends_and_tabs_are_those_of_the_file() -> None:
    before = site("\t" + one("a", "1")).replace(b"\n", b"\r\n")
    after = merged(before).content
    assert after.count(b"\n") == after.count(b"\r\n")
    assert b"\r\n\t<property>\r\n\t\t<name>pysync.source.name</name>\r\n" in after


def test_no_entity_is_expanded_and_no_other_file_read() -> None:
    dtd = '<!DOCTYPE configuration SYSTEM "http://127.0.0.1:9/x.dtd" [<!ENTITY a "x.Y"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    before = f"{dtd}\n<configuration>{one(OLD, '&a;')}{one('b', '&f;')}</configuration>".encode()
    after = merged(before)
    assert f"<value>&a;,{LISTENER}</value>".encode() in after.content
    assert after.values["b"] == "&f;"
    assert unmerged(after.content).content == before


def test_entities_in_entities_take_no_memory() -> None:
    lols = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
    text = f'<!DOCTYPE configuration [<!ENTITY l0 "lol">{lols}]><configuration>{one("a", "&l12;")}</configuration>'
    assert values(merged(text.encode()).content)["a"] == "&l12;"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<configuration>\n  <property>\n</configuration>", "hive-site.xml:3:3: mismatched tag"),
        (b"", "hive-site.xml:1:1: no element found"),
        (b"<configuration>\n  &", "hive-site.xml:2:3: unclosed token"),
        (b"<configuration>\n\xff</configuration>", "hive-site.xml:2:1: not well-formed"),
        (b"<html></html>", "hive-site.xml is not a hive-site.xml: its root is <html>"),
        (b'<?xml version="1.0" encoding="utf-7"?><configuration/>', "cannot read the encoding of hive-site.xml"),
        (b'<?xml version="1.0" encoding="klingon"?><configuration/>', "hive-site.xml"),
        (b'<?xml version="1.0" encoding="shift_jis"?><configuration/>', "hive-site.xml"),
        (b"\xff\xfe<", "hive-site.xml"),
    ],
)
def test_what_is_no_hive_site_is_refused_with_its_place(content: bytes, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(content, "hive-site.xml")
    assert words in refused.value.message
    assert "b'" not in str(refused.value)


def test_a_list_in_an_attribute_is_refused() -> None:
    """Hadoop 2 does not read it, Hadoop 3 does."""
    before = site(f'<property name="{OLD}" value="a.B"/>')
    with pytest.raises(UsageError, match=rf"^x: {OLD} has no <value> that can be changed; edit"):
        merged(before)
    found = values(merged(site(f'<property name="x.y" value="{"a" * 3}"/>')).content)
    assert found["x.y"] == "aaa"


def test_one_that_is_final_and_has_no_value_is_refused_as_no_other_counts() -> None:
    final = f"<property><name>{OLD}</name><final>true</final></property>"
    with pytest.raises(UsageError, match="has no <value> that can be changed"):
        merged(site(final + one(OLD, "a.B")))
    after = merged(site(one(OLD, "a.B") + final + one(OLD, "c.D"))).content
    assert [value for name, value in read(after) if name == OLD] == [f"a.B,{LISTENER}", "", "c.D"]
    assert values(merged(site(f"<property><name>{OLD}</name></property>")).content)[OLD] == LISTENER


@pytest.mark.parametrize("wrong", [one("a", "2"), one("b", "1"), one("pysync.x", "1"), "<property/>"])
def test_what_would_change_anything_else_is_not_done(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that is wrong, whyever, is found by reading its result."""
    lines = merge_room._lines
    monkeypatch.setattr(merge_room, "_lines", lambda *given: [*lines(*given), wrong])
    with pytest.raises(PysyncError, match="cannot edit x: more than the properties of pysync would change"):
        merged(site(one("a", "1")))


xml = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=12
)
plain = st.text("ab.$ <&>]'\"\n\t", max_size=8)
names = st.one_of(st.sampled_from([OLD, NEW, "pysync.synchronous", "a", "b"]), plain)
listed = st.lists(st.sampled_from(["a.B", "c.D$E", f"{LISTENER}2", OTHER]), max_size=3).map(", ".join)
spaces = st.text(" \t\n", max_size=3)


@st.composite
def properties(draw: st.DrawFn) -> str:
    name = draw(names)
    text = draw(listed if name in {OLD, NEW} else st.one_of(plain, xml))
    value = draw(st.sampled_from([escape(text), f"<![CDATA[{text.replace(']]>', '')}]]>"]))
    parts = [f"<name>{draw(spaces)}{escape(name)}</name>", f"<value{draw(spaces)}>{value}</value >"]
    parts += draw(st.lists(st.sampled_from(["<final>true</final>", "<!-- c -->", "<description>&lt;</description>"])))
    return f"<property{draw(spaces)}>{draw(spaces).join(draw(st.permutations(parts)))}</property>"


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of properties, some of them several times, final or ours, in any form."""
    item = st.one_of(properties(), spaces, st.sampled_from(["<!-- <property/> -->", "<?pi x?>", "text"]))
    inside = "".join(draw(st.lists(item, max_size=8)))
    head = draw(st.sampled_from(["", '<?xml version="1.0"?>\n', "<!-- c -->\n", "<!DOCTYPE configuration>\n"]))
    text = f"{head}<configuration{draw(spaces)} a={quoteattr(draw(plain))}>{inside}</configuration>{draw(spaces)}"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()


def others(content: bytes) -> list[tuple[str, str]]:
    return [it for it in read(content) if it[0] not in {OLD, NEW} and not it[0].startswith("pysync.")]


@given(files())
def test_whatever_is_there_stays_after_a_merge(before: bytes) -> None:
    after = merged(before)
    assert others(after.content) == others(before)
    assert after.values["pysync.source.name"] == "east"
    lists = [after.values[key] for key in (OLD, NEW) if key in after.values]
    assert lists
    assert all(LISTENER in it for it in lists)
    assert merged(after.content).content == after.content


@given(files())
def test_whatever_is_there_has_its_bytes_again(before: bytes) -> None:
    assume("pysync." not in before.decode())
    assert unmerged(merged(before).content).content == before


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(content: bytes) -> None:
    with suppress(UsageError):  # and nothing else
        document = parse(content, "x")
        assert document.encoded(document.data) == content
