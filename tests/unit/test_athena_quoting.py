"""Whatever text there is: a statement says it exactly, or it is refused with the reason."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pysync.targets.athena.quoting import (
    MAX_BYTES,
    InexpressibleError,
    fitting,
    identifier,
    place,
    properties,
    size,
    string,
)
from tests.support.hive_ddl import Token, read_literal, tokens

NASTY = st.text(alphabet=st.sampled_from("ab0178'\"`\\${}%_;-/*\n\r\t\b\0\x1a\x7fü日😀:.uZnN \u2028"), max_size=30)
ANY = st.one_of(st.text(max_size=40), NASTY)


@given(ANY)
@example("\x0012")
@example("\\")
@example("'")
@example("it''s")
@example("${hiveconf:secret}")
@example("\\u0041")
@example("\\%\\_")
@example("x'; DROP DATABASE y; --")
def test_a_string_is_read_back_as_it_was(text):
    literal = string(text)
    assert read_literal(literal) == text
    assert tokens(f"{literal} X") == [Token("text", text), Token("word", "X")], "it ends where it ends"


@given(ANY)
@example("${env:HOME}")
def test_a_string_has_no_line_ends_no_nul_and_no_variable(text):
    assert not set(string(text)) & set("\n\r\t\b\0\x1a")
    assert "${" not in string(text)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_a_character_is_refused(text):
    for quote in (string, identifier):
        with pytest.raises(InexpressibleError, match="half of a surrogate pair"):
            quote(text)


@given(st.one_of(st.text(max_size=20), st.text(alphabet="`a.: ", max_size=5)))
@example("`")
@example("a`b``")
@example("`a")
@example("`a`")
def test_an_identifier_is_read_back_or_refused(text):
    if not text.strip() or text[0] == text[-1] == "`" or set(text) & set(".:\0"):
        with pytest.raises(InexpressibleError):
            identifier(text)
    else:
        assert tokens(f"{identifier(text)} X") == [Token("name", text), Token("word", "X")]


@pytest.mark.parametrize(
    ("name", "why"),
    [("", "empty"), (" ", "empty"), ("a.b", "dot"), ("a:b", "colon"), ("`a`", "backtick"), ("\0", "NUL")],
)
def test_refused_names_say_why(name, why):
    with pytest.raises(InexpressibleError, match=why):
        identifier(name)


@given(st.text(max_size=10))
def test_places_have_plain_names(name):
    plain = name != "" and all(char in "abcdefghijklmnopqrstuvwxyz0123456789_" for char in name)
    if plain:
        assert tokens(place(name, name)) == [Token("name", name), Token("mark", "."), Token("name", name)]
    else:
        with pytest.raises(InexpressibleError, match="characters other than"):
            place(name)


@given(st.dictionaries(ANY, ANY, min_size=1, max_size=4))
def test_properties_are_read_back(pairs):
    found = [token.text for token in tokens(properties(pairs)) if token.kind == "text"]
    assert dict(zip(found[::2], found[1::2], strict=True)) == pairs


def test_the_length_is_that_of_the_bytes():
    assert size("日") == 3
    assert fitting("日" * (MAX_BYTES // 3))
    with pytest.raises(InexpressibleError, match="statement has 262146 bytes; Athena accepts 262144"):
        fitting("日" * (MAX_BYTES // 3 + 1))
