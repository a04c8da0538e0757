"""What must hold of a case after a run."""

from __future__ import annotations

import re

from tests.support.corpus import Case, expected
from tests.support.corpus.run import Findings


def assert_case(findings: Findings, case: Case, bucket: str, *, here: bool) -> None:
    """By the Glue API field by field; by statements but for what they lose, or it is parked with the reason."""
    assert_arrived(findings, case, "api", bucket)
    if case.parks(here=here):
        assert_parked(findings, case, "ddl")
    else:
        assert_arrived(findings, case, "ddl", bucket)
    if not case.said or case.refused:
        assert_arrived(findings, case, "lake", bucket)


def assert_arrived(findings: Findings, case: Case, target: str, bucket: str) -> None:
    """The target has the case's table and its partitions as the source has them, or neither has it."""
    name, located = findings.names[case.title], findings.located(bucket)
    assert name not in findings.parked[target], findings.parked[target][name]
    source, there = findings.source.get(name), findings.targets[target].get(name)
    if source is None:
        assert there is None
        return
    assert there is not None, f"{name} is not there"
    kept = expected.without_lost if target == "ddl" else lambda form: form
    assert kept(expected.seen(there)) == kept(expected.table(source, located))
    wanted = {key: kept(expected.partition(it, located)) for key, it in findings.partitions[name].items()}
    parts = findings.target_partitions[target].get(name, {})
    assert {key: kept(expected.seen(it)) for key, it in parts.items()} == wanted


def assert_parked(findings: Findings, case: Case, target: str) -> None:
    """The target was not asked for what it cannot say, or refused it: it says so."""
    reason = findings.parked[target].get(findings.names[case.title], "not parked")
    assert re.search(case.refused or "Athena DDL cannot express", reason), reason


def assert_database_arrived(findings: Findings, name: str, target: str, bucket: str) -> None:
    """The target has the database as the source has it."""
    wanted = expected.database(findings.source[name], findings.located(bucket))
    assert expected.seen(findings.targets[target][name]) == wanted
