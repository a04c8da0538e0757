"""Masking takes a number of steps that grows no faster than the text, however hostile that is: counted, not timed."""

from __future__ import annotations

import re

import pytest

from pysync.base import masking
from tests.support.regex_steps import Steps
from tests.support.secret_values import HARMLESS_TEXTS, SECRET_TEXTS

SEARCHED = {
    name: it
    for name, it in vars(masking).items()
    if isinstance(it, re.Pattern) and name not in {"_VALUE", "_ELEMENT", "_SETTING", "_HARMLESS"}
} | {f"command {at}": it for at, it in enumerate(masking._COMMANDS)}
"""All that search a whole text; the others only match where a name has been found, and what they match is done with."""

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
SHORT, LONG = 100, 600
"""Lengths of texts. Searches look ahead in vain for up to some 500 characters: only beyond, growth is a flaw."""


def steps(pattern: re.Pattern[str], text: str) -> int:
    found = Steps(pattern)
    found.search_all(text)
    return found.count


@pytest.mark.parametrize("name", SEARCHED)
def test_the_count_is_that_of_the_true_searches(name: str) -> None:
    """The matcher that counts finds what `re` finds."""
    for text in [*SECRET_TEXTS[::12], *HARMLESS_TEXTS[::12]]:
        assert Steps(SEARCHED[name]).search_all(text) == [it.span() for it in SEARCHED[name].finditer(text)]


def growth(pattern: re.Pattern[str], unit: str, length: int) -> float:
    """How many times the steps are taken if the text is twice as long."""
    short, long = (steps(pattern, (unit * length)[: length * times]) for times in (1, 2))
    return long / short


@pytest.mark.parametrize("name", SEARCHED)
def test_twice_the_text_takes_twice_the_steps(name: str) -> None:
    pattern = SEARCHED[name]
    units = [word.replace("_", " ") for word in HOSTILE]
    growths = {unit: growth(pattern, unit, SHORT) for unit in units}
    suspects = sorted((unit for unit in units if growths[unit] > 2.3), key=lambda unit: -growths[unit])
    assert [unit for unit in suspects[:_MOST_SUSPECTS] if growth(pattern, unit, LONG) > 3] == []


def test_a_search_that_grows_too_fast_is_noticed() -> None:
    former = re.compile(r"\beyJ[\w-]{8,4000}\.")
    assert growth(former, "eyJ-", SHORT) > 2.3
    assert growth(former, "eyJ-", LONG) > 3.5
