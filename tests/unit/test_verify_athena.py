"""What an Athena target that may use DDL alone takes for drift: what its statements would write."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from pysync.targets.athena import AthenaSettings, AthenaStore
from pysync.targets.aws.clients import provide
from pysync.targets.base import Rejected
from tests.conformance.objects import function
from tests.support.glue import unasked
from tests.unit.test_athena_decision import STORE, partition, table
from tests.unit.test_athena_operations import Athena, Glue

FOUND = ["what is called a difference"]


def store(*, only_ddl: bool) -> AthenaStore:
    glue_api = "never" if only_ddl else "when-needed"
    settings = AthenaSettings(name="dr", kind="athena", work_group="w", region="eu-west-1", glue_api=glue_api)
    provide(settings, glue=unasked())
    return AthenaStore(settings, Athena(None), Glue(settings.of_glue(), None))


def of(
    wanted: Any, there: Any | None, *, only_ddl: bool = True, within: Any = None, found: list[str] = FOUND
) -> list[str]:
    return store(only_ddl=only_ddl).written(list(found), STORE.as_stored(wanted, within), there, within)


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
    with pytest.raises(Rejected, match=r"Athena DDL cannot express this difference: the removal of properties \(more"):
        of(wanted, more)
    assert of(wanted, more, only_ddl=False) == FOUND
    with pytest.raises(Rejected, match="a Hive function"):
        of(function("db", "f"), None)
    assert of(function("db", "f"), None, only_ddl=False) == FOUND


def test_what_the_engine_writes_by_itself_is_not_listed() -> None:
    wanted = table()
    there = changed(wanted, parameters={**wanted.parameters, "last_modified_by": "x", "y": "z"})
    lines = ["parameters.last_modified_by: 'x' instead of nothing", "parameters.y: 'z' instead of nothing"]
    assert of(wanted, there, only_ddl=False, found=lines) == lines[1:]
    del there.parameters["y"]
    assert of(wanted, there, only_ddl=False, found=lines[:1]) == []


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
