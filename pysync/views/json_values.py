r"""What Hive takes out of JSON, as text: `get_json_object` and `json_tuple`.

Hive reads a whole text, with the last of several equal keys, and writes numbers as Java does (1.50 is 1.5) and objects
in the order of their keys. Trino's `json_parse` does the same, but sorts the keys; `json_extract` of the text keeps
their order, and takes the first of equal keys. So the latter is taken where both have the same content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.differences import accepts, fails_without
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_string
from pysync.views.typed_expressions import Typed, named, repeated, text, written
from pysync.views.types import STRING

_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[([0-9]{1,9})\]")
_PATH = re.compile(rf"\$(?:{_STEP.pattern})+")

# Hive reads a text up to the end of its first object or array, a character of a string with or without a backslash
# before it, and control characters within a string; Trino takes the whole for no JSON. `s` is such a text.
_STRING = r"\"(?:\\[\s\S]|[^\"\\])*\""
_PARTS = rf"regexp_extract_all(s, '{_STRING}|[\[\]{{}}]|[^\"\[\]{{}}]+|\"')"
_DEPTH = "p[1] + CASE WHEN w IN ('{', '[') THEN 1 WHEN w IN ('}', ']') THEN -1 ELSE 0 END"
_NEXT = f"ROW(IF(w IN ('}}', ']') AND p[1] <= 1, -1, {_DEPTH}), p[2] + length(w))"
_END = f"reduce({_PARTS}, ROW(bigint '0', bigint '0'), (p, w) -> IF(p[1] < 0, p, {_NEXT}), p -> p[2])"
_PLAIN = r"regexp_replace(q[1], '\\(?:([\"\\/bfnrtu])|([\s\S]))', x -> IF(x[1] IS NULL, x[2], '\' || x[1]))"
_CODE = r"'\u' || lpad(to_base(codepoint(CAST(x[1] AS varchar(1))), 16), 4, '0')"
_ESCAPED = rf"regexp_replace({_PLAIN}, '([\x00-\x1f])', x -> {_CODE})"
_MENDED = f"regexp_replace(substr(s, 1, {_END}), '({_STRING})', q -> {_ESCAPED})"
_IF_READ = "element_at(filter(ARRAY[{0}], x -> TRY(json_parse(x)) IS NOT NULL), 1)"
_READABLE = f"IF(TRY(json_parse(s)) IS NOT NULL, s, {_IF_READ.format(_MENDED)})"
# Trino escapes what is beyond the Basic Multilingual Plane.
_HALVES = r"(\\\\)|\\u(D[89AB][0-9A-F]{2})\\u(D[C-F][0-9A-F]{2})"
_WHOLE = "chr(65536 + (from_base(x[2], 16) - 55296) * 1024 + from_base(x[3], 16) - 56320)"
# `v` has a value, the same as text with sorted keys, and, unless it is of several places, as text with the keys in
# their order; that is of the first of equal keys, so there must be none in the whole text `t`.
_HAS_NO_EQUAL_KEYS = "length(json_format(json_extract(t, '$'))) = length(json_format(json_parse(t)))"
_IS_ORDERED = f"v[3] IS NOT NULL AND {_HAS_NO_EQUAL_KEYS}"
_WITHOUT_STRINGS = f"regexp_replace(v[2], '{_STRING}', '')"
_HAS_OTHER_DIGITS = rf"regexp_like({_WITHOUT_STRINGS}, '(?=[0-9]+\.)[0-9.]{{17,}}|E-?[0-9]{{2}}')"


def _refused(words: str) -> str:
    """What fails with these words."""
    return f"CAST({fails_without('json-text', words, 'v[2]')} AS varchar)"


def _as_text() -> str:
    """The value as Hive writes it. What Trino may write in another way fails, unless a person accepts that."""
    unordered = "v[2]"
    cases = "WHEN v[2] = 'null' THEN NULL "
    if not accepts("json-text"):
        cases += f"WHEN {_HAS_OTHER_DIGITS} THEN {_refused('JSON with a long or large double')} "
        unordered = f"""IF(strpos(v[2], ',"') = 0, v[2], {_refused("JSON whose order of keys is not known")})"""
    ordered = f"IF({_IS_ORDERED}, v[3], {unordered})"
    whole = f"regexp_replace({ordered}, '{_HALVES}', x -> COALESCE(x[1], {_WHOLE}))"
    return f"CASE {cases}WHEN substr(v[2], 1, 1) IN ('{{', '[') THEN {whole} ELSE json_extract_scalar(v[1], '$') END"


def _get_json_object(value: Typed, path: Typed) -> Typed:
    """What is at a path of names and indexes."""
    steps = written(path, "a path of get_json_object")
    if not _PATH.fullmatch(steps):
        raise CannotTranslate(f"the path {steps!r} of get_json_object, which has more than names and indexes")
    item = "json_parse(t)"
    for place, step in enumerate(_STEP.finditer(steps)):
        item = _item(item, step[2]) if step[1] is None else _member(item, step[1], is_first=place == 0)
    return _read(value, [(item, steps)])[0]


def json_tuple(value: Typed, names: Sequence[Typed]) -> Sequence[Typed]:
    """The values of these keys of an object."""
    keys = [written(it, "a name in json_tuple") for it in names]
    if any(not _STEP.fullmatch(f".{it}") for it in keys):
        raise CannotTranslate("json_tuple with other names than of letters, digits, hyphens and underscores")
    return _read(value, [(_member("json_parse(t)", it, is_first=True), f"$.{it}") for it in keys])


def _read(value: Typed, places: Sequence[tuple[str, str]]) -> Sequence[Typed]:
    """The texts of what is at these places of the text `t`: a value of JSON, and its path."""
    readable = named(as_string(value).sql, "s", _READABLE)
    texts = []
    for place, path in places:
        row = f"ROW(x, json_format(x), json_format(json_extract(t, {text(_quoted(path))})))"
        values = f"transform(ARRAY[{place}], x -> {row})"
        whole = named(readable, "t", f"element_at(transform({values}, v -> {_as_text()}), 1)")
        texts.append(repeated(Typed(whole, STRING), 1))
    return texts


def _quoted(path: str) -> str:
    """The path with names in brackets, which Trino takes whatever is in them."""
    return re.sub(r"\.([A-Za-z0-9_-]+)", r'["\1"]', path)


def _item(of: str, place: str) -> str:
    return f"json_extract({of}, '$[{place}]')"


def _member(of: str, name: str, *, is_first: bool) -> str:
    """A member of an object; of an array a list of those that its items have, unless it is the whole text."""
    one = f"""json_extract({{}}, '$["{name}"]')"""
    if is_first:
        return one.format(of)
    items = "IF(json_array_length(m) IS NULL, ARRAY[m], CAST(m AS array(json)))"
    members = f"transform(CAST(o AS array(json)), i -> {one.format('i')})"
    known = f"filter({members}, m -> json_format(m) <> 'null')"
    listed = f"flatten(transform({known}, m -> {items}))"
    of_array = named(listed, "l", "IF(cardinality(l) > 0, CAST(l AS json))")
    choice = f"IF(json_array_length(o) IS NULL, {one.format('o')}, {of_array})"
    return named(of, "o", choice)


JSON_VALUES: Mapping[str, Callable[..., Typed]] = {"get_json_object": _get_json_object}
