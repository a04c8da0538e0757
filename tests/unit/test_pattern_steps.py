"""A regular expression takes a number of steps that grows no faster than the text, however hostile that is.

All of the code are looked at, as the code uses them. Steps are counted, not timed.
"""

from __future__ import annotations

import math
import re

import pytest

from tests.support.code_patterns import ANCHORED, CodePattern, code_patterns
from tests.support.regex_attacks import Attack, attacks, long_repeats
from tests.support.regex_steps import Steps, TooManySteps
from tests.support.secret_values import HARMLESS_TEXTS, SECRET_TEXTS

UNKNOWN = {
    "base.validation.matching": "its callers' expressions are looked at",
    "hive_site.merge._unlisted": "the name of our own class, escaped",
    "lab.aws.ddl.failure": "the lab's own texts",
    "lab.aws.functions.GlueFunctions": "the lab is for one's own requests",
    "lab.aws.strict._python_pattern": "of botocore's own model",
    "lab.aws.tables.Tables": "the lab is for one's own requests",
    "replay.window.cursor.Cursor": "one escaped symbol",
    "replay.window.name_expression._not_as_in_hive": "is compiled, and matches nothing",
    "replay.window.partition_filter._like": "fnmatch's: takes each star once",
    "replay.window.patterns._database_glob": "fnmatch's: takes each star once",
    "replay.window.patterns._glob": "fnmatch's: takes each star once",
    "setup.plan._config": "one escaped path",
    "sidecar.parked.common_reason": "escaped names, in one line of a bounded length",
    "targets.athena.failures._reason_has": "its callers' expressions are looked at",
    "targets.aws.texts.checked": "one set of characters",
    "targets.aws.texts.fitted": "one set of characters",
    "targets.hms.errors._meta": "its callers' expressions are looked at",
    "views.moments._formatted": "letters of our own, one after the other",
    "views.patterns._compiled": "is compiled, and meets an empty text",
}
"""Expressions that are not known before they are used, and why they are harmless."""

MATCHED = ("_VALUE", "_ELEMENT", "_SETTING", "_HARMLESS")
"""Expressions of pysync.base.masking that only match where a name is; what they match is done with."""

HOSTILE = """
    a - -- . = : :: == \\ ' " { }} < > a> a</ :// ://a: :a/ s3://a: https://a- a.b:a eyJ eyJ- eyJ. eyJaaaaaaaaa.
    eyJaaaaaaaaa.bbbb- -----BEGIN -----BEGIN_PRIVATE_KEY----- npm_ npm_a xoxb- xoxb-a dapi gh ghp_ SG. SG.a.
    sig%3D sig%3D& ?delegation=& pwd= pwd={ pwd=' pwd=" password: password=\\" Authorization: Bearer Bearer_a
    Basic_a Cookie: mysql mysql_ mysql- mysql_-p mysql_-p' curl_-u curl_-u' curl_-ua curl_-ua: sshpass_
    sqlplus_a/ sqlplus_ exp_a exp_a/ exp_a/b docker_login_ machine_a_login_ machine_a_login_b_password .logon_a
    .logon_ identified_ identified_by_ identified_by_' identified_with_a_ password_' secret_" -u_a: -u_'
    --user_a: hooks.slack.com/services/a .webhook.office.com/ discord.com/api/webhooks/1 api.telegram.org/bot1
    1//0 AAAAAAAAAAAAAA.atlasv1. dt0c01.a </name><value>
""".split()  # noqa: SIM905 - a table of words

_MOST_SUSPECTS = 2  # those that grow most: to count the steps of long texts takes seconds
SHORT, LONG = 60, 600
"""Lengths of texts. Searches look ahead in vain for up to some 500 characters: only beyond, growth is a flaw."""
_MOST_STEPS = 1_000  # a character


def _label(it: CodePattern) -> str:
    return f"{it.where.removeprefix('pysync.')} {it.use}"


def _all() -> dict[str, tuple[re.Pattern[str], str]]:
    """By place: the expressions that could grow faster than the text at all, and their use."""
    found: dict[str, tuple[re.Pattern[str], str]] = {}
    for it in code_patterns():
        use = "match" if it.where.startswith("pysync.base.masking.") and it.where.endswith(MATCHED) else it.use
        if it.pattern is not None and long_repeats(it.pattern) >= (2 if use in ANCHORED else 1):
            found[f"{_label(it)} {len(found)}"] = it.pattern, use
    return found


PATTERNS = _all()
MASKING = {name: it for name, (it, use) in PATTERNS.items() if name.startswith("base.masking.") and use == "search"}


def steps(pattern: re.Pattern[str], use: str, text: str) -> float:
    """How many steps it takes; without end if it is no use to count on."""
    search = Steps(pattern, _MOST_STEPS * len(text))
    try:
        {"match": search.match, "fullmatch": search.fullmatch}.get(use, search.search_all)(text)
    except TooManySteps:
        return math.inf
    return search.count


def growth(pattern: re.Pattern[str], use: str, attack: Attack, length: int) -> float:
    """How many times the steps are taken if the text is twice as long."""
    short, long = (steps(pattern, use, attack.text(length * times)) for times in (1, 2))
    return long / short if math.isfinite(long) else math.inf


def flaw(pattern: re.Pattern[str], use: str, attacks: list[Attack]) -> Attack | None:
    """A text that takes more than twice the steps if it is twice as long; None if there is none."""
    growths = {it: growth(pattern, use, it, SHORT) for it in attacks}
    suspects = sorted((it for it in attacks if growths[it] > 2.3), key=lambda it: -growths[it])
    return next((it for it in suspects[:_MOST_SUSPECTS] if growth(pattern, use, it, LONG) > 3), None)


@pytest.mark.parametrize("name", PATTERNS)
def test_twice_the_text_takes_twice_the_steps(name: str) -> None:
    pattern, use = PATTERNS[name]
    assert flaw(pattern, use, attacks(pattern)) is None


@pytest.mark.parametrize("name", MASKING)
def test_no_text_with_parts_of_secrets_makes_masking_slow(name: str) -> None:
    assert flaw(MASKING[name], "search", [Attack("", word.replace("_", " ")) for word in HOSTILE]) is None


def test_what_is_not_known_before_it_runs_is_known_to_be_harmless() -> None:
    assert {it.where.removeprefix("pysync.") for it in code_patterns() if it.pattern is None} == UNKNOWN.keys()


@pytest.mark.parametrize("name", MASKING)
def test_the_count_is_that_of_the_true_searches(name: str) -> None:
    """The matcher that counts finds what `re` finds."""
    for text in [*SECRET_TEXTS[::12], *HARMLESS_TEXTS[::12]]:
        assert Steps(MASKING[name]).search_all(text) == [it.span() for it in MASKING[name].finditer(text)]


@pytest.mark.parametrize(
    ("former", "use"),
    [
        (r"\beyJ[\w-]{8,4000}\.", "search"),
        (r"(?:\bb?['\"])?\s*(?<!\w)<(?:!doctype\s+html|html)\b.*", "search"),  # the spaces before a page
        (r"<title[^>]*>([^<]+)", "search"),
        (r"@(.+?)#", "search"),
        (r"\w*Secret\w*|\w*Token\w*", "fullmatch"),
        (r'"""(?:\\.|(?!""").)*"{3,5}', "match"),  # without end: each backslash in two ways
        (r"\$\{(?!\S*(?:key|token))([^${}\s]+)\}", "search"),
    ],
)
def test_an_expression_that_grows_too_fast_is_noticed(former: str, use: str) -> None:
    pattern = re.compile(former, re.DOTALL)
    assert flaw(pattern, use, attacks(pattern)) is not None
