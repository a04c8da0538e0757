"""Capitals and small letters of all scripts, as Java and ICU have them: `upper`, `lower`, `initcap`."""

from __future__ import annotations

from collections.abc import Callable

from pysync.views.casts import as_string
from pysync.views.typed_expressions import Typed, named, text
from pysync.views.types import STRING

# Characters whose capital is more than one character, and some between them.
_LONG_CAPITALS = (
    "\u00df\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1f56\u1f80-\u1fb7\u1fbc\u1fc2-\u1fc7\u1fcc"
    "\u1fd2-\u1fd7\u1fe2-\u1fe7\u1ff2-\u1ff7\u1ffc\ufb00-\ufb17"
)
_WITH_DIAERESIS = (("\u03aa", "\u0399\u0308"), ("\u03ab", "\u03a5\u0308"))


def upper(value: Typed) -> Typed:
    """Java has capitals of several characters, as SS; Trino has those of the characters that one consists of."""
    capital = "normalize(upper(normalize(x[1], NFKD)), NFC)"
    for composed, apart in _WITH_DIAERESIS:
        capital = f"replace({capital}, '{composed}', '{apart}')"
    pattern = f"'([{_LONG_CAPITALS}])'"
    written_out = f"regexp_replace({as_string(value).sql}, {pattern}, x -> IF(x[1] = '\u00df', 'SS', {capital}))"
    return Typed(f"upper({written_out})", STRING)


# Java's small letter of a capital sigma is another one at the end of a word: letters, also with a dash, dot or quote
# between two of them, and numbers, also with a comma, dot or quote; ideographs stand alone.
_CASED = r"\p{Lu}\p{Ll}\p{Lt}\x{2b0}-\x{2b8}\x{2c0}\x{2c1}\x{2e0}-\x{2e4}\x{37a}\x{2160}-\x{217f}"
_IDEOGRAPHS = r"\x{3005}-\x{30ff}\x{4e00}-\x{9fa5}\x{f900}-\x{fa2d}"
_LETTER, _MARK = rf"[\p{{L}}&&[^{_IDEOGRAPHS}]]", r"[\p{Mn}\p{Me}]"
_BEHIND_LETTER = f"(?<={_LETTER}|{_LETTER}{_MARK}|{_LETTER}{_MARK}{_MARK})"
_BETWEEN = rf"{_BEHIND_LETTER}[\p{{Pd}}\p{{Pc}}\x{{ad}}\x{{2027}}\"'.](?={_LETTER})"
_BETWEEN += r"|(?<=\p{N})[\"',.\x{66b}](?=\p{N})"
_WITHIN = rf"(?:[\p{{L}}\p{{N}}\p{{Mn}}\p{{Me}}\p{{Cf}}&&[^{_CASED}\x{{345}}{_IDEOGRAPHS}\x{{ad}}]]|{_BETWEEN})*"
_BEFORE = rf"(?:[{_CASED}]|(?<=[\p{{L}}\p{{N}}&&[^{_IDEOGRAPHS}]])\x{{345}}){_WITHIN}"
LAST_SIGMA = rf"({_BEFORE})\u03a3(?!{_WITHIN}[{_CASED}\x{{345}}])"
"""A pattern of a capital sigma that ends a word, with what is before it as its group."""
# The same in ICU, which Spark 4 has: characters of cased letters, and those that do not count between letters.
_ICU_CASED = r"\p{Lu}\p{Ll}\p{Lt}\x{aa}\x{ba}\x{2160}-\x{217f}\x{24b6}-\x{24e9}"
_ICU_IGNORED = r"\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}':.\x{b7}\x{387}\x{55f}\x{5f4}\x{2018}\x{2019}\x{2024}\x{2027}"
_ICU_IGNORED += r"\x{fe13}\x{fe52}\x{fe55}\x{ff07}\x{ff0e}\x{ff1a}"
ICU_LAST_SIGMA = rf"([{_ICU_CASED}][{_ICU_IGNORED}]*)\u03a3(?![{_ICU_IGNORED}]*[{_ICU_CASED}])"
"""The same as ICU has it."""
BLANK = r"\p{Z}\t-\r\x1c-\x1f&&[^\x{a0}\x{2007}\x{202f}]"
"""What is white space to Java, within a class of a pattern."""
# Georgian letters have no capitals at the beginning of a word; letters of two have such of one.
_SMALL = r"[\p{Ll}\x{345}\x{2170}-\x{217f}\x{24d0}-\x{24e9}&&[^\x{10d0}-\x{10ff}\x{10000}-\x{10ffff}]]"
_TWO_LETTERS = "\u01c6\u01c9\u01cc\u01f3"


def lower(last_sigma: str) -> Callable[[Typed], Typed]:
    """There are two small letters for a capital sigma, of which `last_sigma` matches one, and two for a dotted I."""
    sigmas = f"IF(strpos(x, '\u03a3') > 0, regexp_replace(x, {text(last_sigma)}, '$1\u03c2'), x)"

    def of(value: Typed) -> Typed:
        dotted = f"replace({as_string(value).sql}, '\u0130', 'i\u0307')"
        return Typed(f"lower({named(dotted, 'x', sigmas)})", STRING)

    return of


def initcap(blank: str) -> Callable[[Typed], Typed]:
    """Small letters, but for the first one behind what is blank: `blank` is within a class of a pattern."""
    capital = f"IF(strpos('{_TWO_LETTERS}', x[1]) > 0, chr(codepoint(CAST(x[1] AS varchar(1))) - 1), upper(x[1]))"
    first = f"(?<![^{blank}])({_SMALL})"
    return lambda value: Typed(f"regexp_replace({lower(LAST_SIGMA)(value).sql}, '{first}', x -> {capital})", STRING)
