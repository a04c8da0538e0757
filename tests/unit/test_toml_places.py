"""The place of a key in pysync.toml: line and column, as an editor counts them."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.toml_places import fault, place_of, places

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = '''# A comment with [brackets] and key = value
status_grace = "5m"

[source]
  name = "on[prem"   # ]
include = [
  "a",  # x = 1
  "[b]",
]
"quoted" = 1
note = """
[targets]
name = "no key"
"""
after = 1
[[targets]]
name = "dr"
locations = { "hdfs://a" = "hdfs://b" }
[targets.tls]
ca_file = 'x'
[[targets]]
tls.ca_file = "y"
'''


def test_tables_and_keys_are_found_at_their_line_and_column():
    assert places(TEXT) == {
        "status_grace": (2, 1),
        "source": (4, 1),
        "source.name": (5, 3),
        "source.include": (6, 1),
        "source.quoted": (10, 1),
        "source.note": (11, 1),
        "source.after": (15, 1),
        "targets[0]": (16, 1),
        "targets[0].name": (17, 1),
        "targets[0].locations": (18, 1),
        "targets[0].tls": (19, 1),
        "targets[0].tls.ca_file": (20, 1),
        "targets[1]": (21, 1),
        "targets[1].tls.ca_file": (22, 1),
    }


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("targets[0].locations.hdfs://a", (18, 1)),
        ("source.include[1]", (6, 1)),
        ("targets[1].kind", (21, 1)),
        ("bridge.port", None),
        ("source.metastore", (4, 1)),
    ],
)
def test_what_is_not_there_is_looked_for_around_it(key: str, place: tuple[int, int] | None):
    assert place_of(key, places(TEXT)) == place


WORDS = st.text("abc", min_size=1, max_size=3)
VALUES = st.sampled_from(
    [
        "1",
        '"[x"',
        "'{'",
        "[1, 2]",
        "[\n 1, # ]\n 2,\n]",
        '"""\n[t]\nk = 1\n"""',
        "'''a'''",
        "{ a = 1 }",
        '"""x""" # y = [',
    ]
)


@given(st.lists(st.tuples(WORDS, st.dictionaries(WORDS, VALUES, max_size=4)), max_size=5))
def test_every_key_of_a_file_is_found_where_it_stands(tables: list[tuple[str, dict[str, str]]]):
    text = "".join(
        f"[[{name}]]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items()) for name, entries in tables
    )
    found, lines = places(text), text.splitlines()
    parsed: dict[str, Any] = tomllib.loads(text)
    wanted = {f"{name}[{at}].{key}" for name, rows in parsed.items() for at, row in enumerate(rows) for key in row}
    assert {key for key in found if "." in key} == wanted
    assert all(
        lines[line - 1].startswith(f"{key.rpartition('.')[2]} = ") for key, (line, _) in found.items() if "." in key
    )


@given(st.text(st.sampled_from("[]{}=\"'#.a1 \n\\"), max_size=60))
def test_any_text_has_places_or_none(text: str):
    assert all(line >= 1 and column >= 1 for line, column in places(text).values())


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("[source]\nname = onprem\n", (2, 8), "invalid value"),
        ("[source]\n\n[source]\n", (3, 8), "cannot declare source twice"),
        ("[a.b]\n[a.b]\n", (2, 5), "cannot declare a.b twice"),
        ("[a]\nx = 1\nx = 2\n", (3, 6), "the key is there twice"),
        ('x = "a', None, "unterminated string, at the end of the file"),
        ("x =", None, "invalid value, at the end of the file"),
    ],
)
def test_what_is_no_toml_is_told_with_its_place_and_without_a_tuple(
    text: str, place: tuple[int, int] | None, words: str
) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as error:
        tomllib.loads(text)
    found, why = fault(str(error.value))
    assert (found, words in why) == (place, True), why


@given(st.text(st.sampled_from("ab.=[]{}'\"\n# \\1,"), max_size=30))
def test_whatever_the_parser_says_is_told(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place, why = fault(str(error))
        assert not re.search(r"\('|\(at ", why), why
        assert why
        assert place is None or place[0] <= text.count("\n") + 1
