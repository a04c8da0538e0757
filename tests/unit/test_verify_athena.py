"""What an Athena target that may use DDL alone takes for drift: what its statements would write."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from pysync.targets.athena.differences import written_differences
from pysync.targets.base import Rejected
from tests.conformance.objects import function
from tests.unit.test_athena_decision import partition, table

FOUND = ["what Glue calls a difference"]


def of(wanted: Any, there: Any | None, *, only_ddl: bool = True, within: Any = None) -> list[str]:
    return written_differences(FOUND, wanted, there, within, only_ddl=only_ddl)


def changed(item: Any, **fields: Any) -> Any:
    found = deepcopy(item)
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def test_what_a_statement_says_is_drift() -> None:
    wanted = table(parameters={"x": "y"})
    assert of(wanted, None) == FOUND
    assert of(wanted, changed(wanted, parameters={**wanted.parameters, "x": "z"})) == FOUND


def test_what_is_lost_and_nobody_misses_is_none() -> None:
    wanted = table()
    assert of(wanted, changed(wanted, owner="another")) == []
    assert of(changed(wanted, owner="x"), changed(wanted, owner="another"), only_ddl=False) == FOUND


def test_what_no_statement_says_is_no_fault_of_the_target_s() -> None:
    wanted = table()
    more = changed(wanted, parameters={**wanted.parameters, "more": "x"})
    with pytest.raises(Rejected, match="no statement of Athena says it: the removal of more"):
        of(wanted, more)
    assert of(wanted, more, only_ddl=False) == FOUND
    with pytest.raises(Rejected, match="a function"):
        of(function("db", "f"), None)
    assert of(function("db", "f"), None, only_ddl=False) == FOUND


def test_what_the_engine_writes_by_itself_is_not_listed() -> None:
    wanted = table()
    there = changed(wanted, parameters={**wanted.parameters, "last_modified_by": "x", "y": "z"})
    lines = ["Parameters.last_modified_by: 'x' instead of None", "Parameters.y: 'z' instead of None"]
    assert written_differences(lines, wanted, there, None, only_ddl=False) == lines[1:]
    del there.parameters["y"]
    assert written_differences(lines[:1], wanted, there, None, only_ddl=False) == []


def test_partitions_are_drift_where_they_lie_elsewhere_or_are_missing() -> None:
    whole = table(keys=("k:string",))
    wanted = partition("a", of=whole)
    assert of(wanted, None, within=whole) == FOUND
    moved = deepcopy(wanted)
    moved.sd.location = "s3://b/elsewhere"
    assert of(wanted, moved, within=whole) == FOUND
    with pytest.raises(Rejected, match="parameters"):
        of(wanted, changed(wanted, parameters={"x": "y"}), within=whole)
    with pytest.raises(Rejected, match="managed table"):
        of(wanted, None, within=changed(whole, tableType="MANAGED_TABLE"))
