"""Differences that a person accepts: what is refused without them, and what is said of a view that has them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from pysync.hiveql.differences import DIFFERENCES, differences_in, with_differences
from pysync.hiveql.refusal import CannotTranslate
from pysync.model.names import TableName
from pysync.replay.window.plan import Work
from pysync.sidecar.plans import LostOfViews
from pysync.sidecar.why import EndsReader
from pysync.targets.glue import GlueSettings
from pysync.views.translation import Translation, accepted_in, encoded, translate
from tests.conformance.objects import Source, columns, table
from tests.conformance.objects import view as made
from tests.support.glue import Bench
from tests.support.hive_views import columns_of, view

REFUSED: Mapping[str, tuple[str, str, str | None]] = {
    "char-blanks": ("select upper(c) as x from t", "char(5)", "2.3"),
    "decimal-average": ("select avg(d) as x from t", "decimal(11,6)", "3.1"),
    "double-text": ("select cast(f as string) as x from t", "string", None),
    "negative-zero": ("select distinct f as x from t", "double", None),
    "percentile": ("select percentile_approx(f, 0.5) as x from t", "double", None),
    "regexp-group": ("select regexp_extract(s, '(?:(a)|b)+', 1) as x from t", "string", None),
}
"""By id: a query, the type of its column, and the version of Hive."""
FAILING: Mapping[str, tuple[str, str]] = {
    "json-text": ("select get_json_object(s, '$.a') as x from t", "string"),
    "odd-time": ("select from_unixtime(b) as x from t", "string"),
    "odd-url": ("select parse_url(s, 'HOST') as x from t", "string"),
}
"""The same for those without which Athena fails at some values."""


def attempt(query: str, kind: str, hive: str | None, *accepted: str) -> Translation:
    return translate(view(query, {"x": kind}), columns_of, hive, accepted)


@pytest.mark.parametrize("difference", sorted(REFUSED))
def test_a_view_is_refused_by_its_difference_and_translated_with_it(difference: str) -> None:
    query = REFUSED[difference]
    with pytest.raises(CannotTranslate) as caught:
        attempt(*query, *(DIFFERENCES.keys() - {difference}))
    assert caught.value.difference == difference
    assert attempt(*query, *DIFFERENCES).differences == {difference}


@pytest.mark.parametrize("difference", sorted(FAILING))
def test_what_is_not_known_is_an_error_in_athena_unless_that_is_accepted(difference: str) -> None:
    query = FAILING[difference]
    plain = translate(view(query[0], {"x": query[1]}), columns_of, "4", (), "Europe/Oslo")
    assert (f"(see {difference} of views_accept)" in plain.sql, plain.differences) == (True, frozenset())
    assert plain.failing == {difference}
    accepted = translate(view(query[0], {"x": query[1]}), columns_of, "4", [difference], "Europe/Oslo")
    assert ("views_accept" in accepted.sql, accepted.differences) == (False, {difference})
    assert accepted.failing == frozenset()


def test_each_difference_has_an_example() -> None:
    assert DIFFERENCES.keys() == REFUSED.keys() | FAILING.keys()


def test_a_view_without_a_difference_has_none_whatever_is_accepted() -> None:
    assert attempt("select id as x from t", "int", None, *DIFFERENCES).differences == frozenset()


def test_the_comment_names_the_differences_and_keeps_what_was_there() -> None:
    found = attempt(*REFUSED["double-text"], "double-text")
    text = encoded(found, "db", "what it is for")
    assert accepted_in(text) == ["double-text"]
    comment = with_differences("what it is for", ["double-text"]) or ""
    assert comment.startswith("what it is for (accepted: double-text: ")
    assert differences_in(comment) == ["double-text"]


def test_plan_why_and_verify_name_the_differences() -> None:
    bench, source = Bench(), Source()
    base, name = TableName(bench.database(), "t"), "v"
    target = bench.target(views_accept=["double-text"])
    target.apply(source.put_table(table(base, "s3://b/t", cols=["a:double", "b:string"])))
    query = f"select cast(a as string) as a, b as b from {base.database}.t"
    definition = made(TableName(base.database, name), query)
    definition.sd.cols = columns(["a:string", "b:string"])
    told = "view: its rows may differ, as is accepted: double-text: "
    put = source.put_table(definition)
    asked = LostOfViews.asked(
        EndsReader(None, lambda _: target), target.store.settings, [Work(frozenset(), (put,), ())]
    )
    (planned,) = asked.by_key().values()
    target.apply(put)
    there = target.table(TableName(base.database, name))
    for lost in (planned, target.lost(there), target.lost(definition)):
        assert [it.startswith(told) for it in lost] == [True]
    assert target.differences(definition, there) == []


@pytest.mark.parametrize("text", [None, "", "select 1", "/* Presto View: no base64 */", "/* Presto View: W10= */"])
def test_other_texts_name_no_differences(text: str | None) -> None:
    assert list(accepted_in(text)) == []


def test_an_unknown_id_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValidationError, match="'double' is no difference that can be accepted; write some of: char-"):
        GlueSettings(name="lake", kind="glue", views_accept=("double",))
