"""Names in class files: what is a name of py4j's is one of ours afterwards, and nothing else has changed."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.listener_java import build
from tests.support.listener_java import relocate as module

RelocationError = module.RelocationError
HEAD = b"\xca\xfe\xba\xbe\x00\x00\x00\x34"
REST = b"py4j/Code that is no name, as it is no text of the pool"
CLASS, STRING, LONG, NAME_AND_TYPE = 7, 8, 5, 12


def utf8(text: str) -> bytes:
    return struct.pack(">BH", 1, len(text.encode())) + text.encode()


def class_file(entries: Sequence[bytes], rest: bytes = REST) -> bytes:
    count = 1 + sum(2 if entry[0] in {5, 6} else 1 for entry in entries)
    return HEAD + struct.pack(">H", count) + b"".join(entries) + rest


def moved(code: bytes) -> bytes:
    return bytes(module.relocate(code, "py4j", "org/pysync/py4j"))


def text_after(text: str) -> str:
    code = moved(class_file([utf8(text)]))
    length = int.from_bytes(code[11:13], "big")
    assert code[13 + length :] == REST
    return code[13 : 13 + length].decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("py4j/Protocol", "org/pysync/py4j/Protocol"),
        ("py4j/reflection/ReflectionUtil", "org/pysync/py4j/reflection/ReflectionUtil"),
        ("Lpy4j/Protocol;", "Lorg/pysync/py4j/Protocol;"),
        ("[[Lpy4j/A;", "[[Lorg/pysync/py4j/A;"),
        ("()Lpy4j/A;", "()Lorg/pysync/py4j/A;"),
        ("(Lpy4j/A;Lpy4j/B;ILpy4j/C;)V", "(Lorg/pysync/py4j/A;Lorg/pysync/py4j/B;ILorg/pysync/py4j/C;)V"),
        ("Ljava/util/Map<Lpy4j/A;+Lpy4j/B;>;", "Ljava/util/Map<Lorg/pysync/py4j/A;+Lorg/pysync/py4j/B;>;"),
        (
            "<T:Lpy4j/A;:Lpy4j/B;>Ljava/lang/Object;Ljava/util/List<*>;",
            "<T:Lorg/pysync/py4j/A;:Lorg/pysync/py4j/B;>Ljava/lang/Object;Ljava/util/List<*>;",
        ),
        ("<T:Ljava/lang/Object;>()V^Lpy4j/E;", "<T:Ljava/lang/Object;>()V^Lorg/pysync/py4j/E;"),
    ],
)
def test_names_of_the_package_are_renamed(text: str, expected: str) -> None:
    assert text_after(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "py4j",
        "py4jx/Protocol",
        "com/py4j/Protocol",
        "Lcom/py4j/Protocol;",
        "xpy4j/Protocol",
        "com/FooLpy4j/Protocol",
        "Py4JException",
        "py4j.Protocol",
        "",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert text_after(text) == text


def test_the_number_of_an_entry_counts_longs_twice() -> None:
    """Else a text would be taken for the string constant's, and the constant be renamed."""
    entries = [struct.pack(">Bq", LONG, 7), utf8("py4j/A"), struct.pack(">BH", STRING, 4), utf8("told")]
    code = moved(class_file([*entries[:2], struct.pack(">BH", STRING, 5), entries[3]]))
    assert utf8("org/pysync/py4j/A") in code
    with pytest.raises(RelocationError, match="a string constant names py4j"):
        moved(class_file([entries[0], entries[1], struct.pack(">BH", STRING, 3)]))


@pytest.mark.parametrize("text", ["py4j", "py4j.Protocol", "py4j/Protocol", "the words of py4j"])
def test_a_string_constant_with_the_name_is_refused(text: str) -> None:
    with pytest.raises(RelocationError, match=f"a string constant names py4j: {text}"):
        moved(class_file([struct.pack(">BH", STRING, 2), utf8(text)]))


def test_a_name_that_becomes_too_long_is_refused() -> None:
    with pytest.raises(RelocationError, match="no room"):
        moved(class_file([utf8("py4j/" + "x" * 65_520)]))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"", "no class file"),
        (b"PK\x03\x04 and so on", "no class file"),
        (HEAD, "no class file"),
        (HEAD + b"\x00\x02\x63\x00\x00", "unknown kind 99"),
        (HEAD + b"\x00\x02\x01\x00\x05abc", "cut off"),
        (HEAD + b"\x00\x02\x07", "cut off"),
        (HEAD + b"\x00\x02\x03\x00\x00\x00", "cut off"),
    ],
)
def test_what_is_no_class_file_is_refused(code: bytes, message: str) -> None:
    with pytest.raises(RelocationError, match=message):
        moved(code)


@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_refused_or_left_as_it_is(garbage: bytes, with_head: bool) -> None:
    code = HEAD + garbage if with_head else garbage
    with suppress(RelocationError):
        assert moved(code) == code or b"py4j" in code


NAMES = st.lists(st.sampled_from(["py4j", "org", "A", "Lpy4j", "B$C", "IL"]), min_size=1, max_size=4).map("/".join)
TYPES = st.one_of(st.sampled_from("BCDFIJSZ"), NAMES.map(lambda name: f"L{name};")).flatmap(
    lambda of: st.sampled_from([of, f"[{of}"])
)
DESCRIPTORS = st.tuples(st.lists(TYPES, max_size=4).map("".join), TYPES).map(lambda parts: f"({parts[0]}){parts[1]}")


@given(st.lists(TYPES, max_size=4), TYPES)
def test_of_every_descriptor_those_types_are_renamed_that_are_of_the_package(
    parameters: list[str], result: str
) -> None:
    def expected(of: str) -> str:
        ours = of.lstrip("[").startswith("Lpy4j/")
        return of.replace("Lpy4j/", "Lorg/pysync/py4j/", 1) if ours else of

    text = f"({''.join(parameters)}){result}"
    assert text_after(text) == f"({''.join(map(expected, parameters))}){expected(result)}"


@given(st.lists(st.one_of(NAMES, DESCRIPTORS).map(utf8), max_size=6), st.binary(max_size=30))
def test_there_and_back_is_the_same(entries: list[bytes], rest: bytes) -> None:
    code = class_file(entries, rest)
    if b"org/pysync/py4j" not in code:
        assert module.relocate(moved(code), "org/pysync/py4j", "py4j") == code


def test_no_name_of_py4j_s_is_left_in_its_own_classes() -> None:
    jar = build.py4j_file(build.py4j_package(), "share/py4j/py4j*.jar")
    with zipfile.ZipFile(jar) as packed:
        for name in build.PY4J_CLASSES:
            code = packed.read(f"py4j/{name}.class")
            after = moved(code)
            assert b"py4j/" in code
            assert b"py4j/" not in after.replace(b"org/pysync/py4j/", b"")
            assert module.relocate(after, "org/pysync/py4j", "py4j") == code
