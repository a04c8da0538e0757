"""The quotas of the embedded Athena: calls a second, with a burst after a pause."""

from __future__ import annotations

import pytest

from pysync.lab.aws.athena import EmbeddedAthena
from pysync.lab.aws.faults import AwsFaults
from pysync.lab.aws.quotas import ACTIVE_DDL, CALLS, CallRate, Quotas
from pysync.lab.aws.refusals import AwsRefusal


def taken(quotas: Quotas, operation: str, count: int) -> int:
    """How many of so many calls at once are let through."""
    done = 0
    for _ in range(count):
        try:
            quotas.take(operation)
        except AwsRefusal:
            continue
        done += 1
    return done


def test_the_quotas_are_those_that_aws_documents() -> None:
    assert (CALLS["StartQueryExecution"], CALLS["BatchGetQueryExecution"]) == (CallRate(20, 80), CallRate(20, 40))
    assert (CALLS["GetQueryExecution"], ACTIVE_DDL) == (CallRate(100, 200), 20)


def test_a_burst_and_then_so_many_a_second() -> None:
    now = [0.0]
    quotas = Quotas({"A": CallRate(20, 80)}, clock=lambda: now[0])
    assert taken(quotas, "A", 100) == 80
    assert taken(quotas, "A", 5) == 0
    now[0] = 0.5
    assert taken(quotas, "A", 100) == 10
    now[0] = 60.0
    assert taken(quotas, "A", 200) == 80, "no more is saved than the burst"


def test_it_says_no_as_aws_does() -> None:
    with pytest.raises(AwsRefusal, match=r"^ThrottlingException: Rate exceeded$"):
        Quotas({"A": CallRate(0, 0)}).take("A")


def test_each_call_has_its_own_quota_and_others_have_none() -> None:
    quotas = Quotas({"A": CallRate(1, 1), "B": CallRate(1, 2)}, clock=lambda: 0.0)
    assert (taken(quotas, "A", 5), taken(quotas, "B", 5), taken(quotas, "GetWorkGroup", 500)) == (1, 2, 500)


class Nobody:
    """Runs nothing."""

    def run(self, database: str, text: str) -> list[str]:
        del database, text
        return []


@pytest.mark.parametrize(("quotas", "answered"), [(None, 45), (Quotas(clock=lambda: 0.0), 40)])
def test_athena_throttles_what_is_too_much_if_it_shall(quotas: Quotas | None, answered: int) -> None:
    athena, found = EmbeddedAthena(Nobody(), AwsFaults(), 0.0, quotas), 0
    for _ in range(45):
        try:
            athena.answer("BatchGetQueryExecution", {"QueryExecutionIds": ["x"]})
        except AwsRefusal:
            continue
        found += 1
    assert found == answered
