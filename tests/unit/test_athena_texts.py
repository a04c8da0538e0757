"""Any text, anywhere in a table, a partition or a database: it arrives as it was, or is refused with the reason.

Athena is tests.support.hive_ddl, which reads statements by Hive's rules and knows nothing of how they are written; only
statements are sent, so that nothing puts right what a statement says wrongly.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pysync.model.names import TableName
from pysync.targets.base import Outcome, Rejected
from tests.conformance.objects import Source
from tests.unit.test_athena_operations import Bench, plain, plain_partition

NASTY = "'\\\"`$%{};-/*\n\r\t\0\x1a\b 0a\ud800é😀\u2028"
TEXTS = st.one_of(st.text(max_size=20), st.text(alphabet=NASTY, max_size=8))
PAIRS = st.dictionaries(TEXTS, TEXTS, max_size=3)
NAME = TableName("db", "t")


def applied(bench: Bench, operation: Any) -> bool:
    """Whether it was done; if not, the refusal must say why."""
    try:
        return bench.apply(operation) in {Outcome.APPLIED, Outcome.UNCHANGED}
    except Rejected as refused:
        refusal = refused
    assert len(refusal.message) > 10
    return False


def of_source(parameters: dict[str, str]) -> dict[str, str]:
    """Without what the engine and pysync keep there."""
    engines = {"transient_lastDdlTime", "last_modified_by", "last_modified_time", "EXTERNAL"}
    own = {"pysync.source", "pysync.event", "pysync.parameters"}
    return {key: value for key, value in parameters.items() if key not in own | engines}


@given(st.tuples(PAIRS, PAIRS, PAIRS), st.tuples(TEXTS, TEXTS, TEXTS))
@example(({"comment": ""}, {}, {"comment": "x"}), ("", "", ""))
@example(({"k": "''"}, {"s": "\\"}, {"k": "${x}"}), ("it's", "\n", "a b"))
def test_a_table_arrives_as_it_was_or_is_refused(
    maps: tuple[dict[str, str], dict[str, str], dict[str, str]], texts: tuple[str, str, str]
) -> None:
    (pairs, serde, later), (comment, text, place) = maps, texts
    bench, source = Bench(glue_api="never"), Source()
    wanted = plain(parameters={"comment": comment, **pairs})
    wanted.sd.serdeInfo.parameters = dict(serde)
    wanted.sd.cols[0].comment = text
    wanted.sd.location = f"s3://bucket/{place}"
    if not applied(bench, source.put_table(wanted)):
        return
    there = bench.catalog.tables["db.t"]
    assert of_source(there.parameters) == of_source(wanted.parameters)
    its = dict(there.sd.serdeInfo.parameters)
    assert {key: its.get(key) for key in serde} == serde
    assert there.sd.location.rstrip("/") == wanted.sd.location.rstrip("/")
    assert len(there.sd.cols[0].comment or "") == len(text), "what Glue does not take has become spaces"
    wanted.parameters |= later
    if applied(bench, source.put_table(wanted)):
        assert of_source(bench.catalog.tables["db.t"].parameters) == of_source(wanted.parameters)


@given(TEXTS, TEXTS)
@example("it's", "a b")
def test_a_partition_arrives_as_it_was_or_is_refused(value: str, place: str) -> None:
    bench, source = Bench(glue_api="never"), Source()
    of = plain(keys=["k"])
    bench.apply(source.put_table(of))
    part = plain_partition(of, value, location=f"s3://bucket/{place}")
    if not applied(bench, source.put_partitions(of, part)):
        assert bench.catalog.partitions["db.t"] == {}
        return
    (found,) = bench.catalog.partitions["db.t"].values()
    assert (found.values, found.sd.location.rstrip("/")) == ([value], f"s3://bucket/{place}".rstrip("/"))
    assert applied(bench, source.drop_partitions(of, [value]))
    assert bench.catalog.partitions["db.t"] == {}


@given(TEXTS, PAIRS, TEXTS)
def test_a_database_arrives_as_it_was_or_is_refused(comment: str, pairs: dict[str, str], owner: str) -> None:
    bench, source = Bench(glue_api="never"), Source()
    put = source.put_database("new", "s3://bucket/new", description=comment, parameters=pairs, ownerName=owner)
    if not applied(bench, put):
        return
    there = bench.catalog.databases["new"]
    owned = {"pysync.owner": owner, "pysync.owner_type": "USER"} if owner else {}
    assert of_source(there.parameters) == of_source({**pairs, **owned})
    assert len(there.description or "") == len(comment), "what Glue does not take has become spaces"
