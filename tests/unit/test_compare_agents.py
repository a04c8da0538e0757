"""The pure parts of `make compare-agents`: the stream that a seed makes, the counting, the table, what an agent is."""

from __future__ import annotations

import subprocess
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compare import report
from tests.compare.agents import Build, NoAgent
from tests.compare.contest import Result, parts
from tests.compare.counting import Counts, Seen, count, differing, place
from tests.compare.stream import DATABASES, STATEMENTS, Statement, Table, statements

_NOTHING = Counts(0, 0, 0, 0, 0, 0)
_SEEN = Seen((("id", "bigint"),), (("day", "string"),), "text", "s3://lake/t", (), {("1",): "s3://lake/t/1"})
_SOURCE = {("sales", "t"): _SEEN}


def _apply(tables: dict[tuple[str, str], Table], statement: Statement) -> None:
    """Change the tables as the source does; KeyError or AssertionError where that would refuse."""
    before, after = statement.before, statement.after
    if before is not None:
        assert tables.pop((before.database, before.name)) == before
    if after is not None:
        assert (after.database, after.name) not in tables
        tables[after.database, after.name] = after


@given(seed=st.integers(min_value=0))
def test_every_statement_is_one_that_the_source_accepts(seed: int) -> None:
    tables: dict[tuple[str, str], Table] = {}
    for statement in statements(seed, 100):
        _apply(tables, statement)


@given(seed=st.integers(min_value=0))
def test_a_seed_always_makes_the_same_stream(seed: int) -> None:
    assert statements(seed, 50) == statements(seed, 50)


@given(seed=st.integers(min_value=0))
def test_a_shorter_stream_is_the_beginning_of_a_longer_one(seed: int) -> None:
    assert statements(seed, 40) == statements(seed, 80)[:40]


def test_the_databases_come_first() -> None:
    first = statements(1)[: len(DATABASES)]
    assert [it.database for it in first] == list(DATABASES)
    assert {it.kind for it in first} == {"create_database"}


def test_the_stream_has_statements_of_every_kind() -> None:
    kinds = Counter(it.kind for it in statements(18))
    assert sum(kinds.values()) == STATEMENTS
    assert kinds.keys() == {
        "create_database",
        "create_table",
        "drop_table",
        "rename_table",
        "add_column",
        "change_type",
        "set_property",
        "add_partitions",
        "drop_partition",
        "move_partition",
    }


@given(seed=st.integers(min_value=0))
def test_a_statement_of_partitions_names_those_that_it_changes(seed: int) -> None:
    for it in statements(seed, 100):
        if it.kind in {"add_partitions", "drop_partition", "move_partition"}:
            assert it.before is not None
            assert it.after is not None
            changed = {values for values, _ in set(it.before.partitions) ^ set(it.after.partitions)}
            assert changed <= {values for values, _ in it.partitions}  # one may be moved to where it is


def test_a_catalog_is_equal_to_itself() -> None:
    assert count(_SOURCE, _SOURCE) == _NOTHING
    assert count(_SOURCE, _SOURCE).equal


def test_a_missing_table_counts_with_its_partitions() -> None:
    assert count(_SOURCE, {}) == replace(_NOTHING, tables_missing=1, partitions_missing=1)


def test_the_partitions_of_an_extra_table_are_not_counted() -> None:
    assert count({}, _SOURCE) == replace(_NOTHING, tables_extra=1)


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        ({}, replace(_NOTHING, partitions_missing=1)),
        ({**_SEEN.partitions, ("2",): "s3://lake/t/2"}, replace(_NOTHING, partitions_extra=1)),
        ({("1",): "s3://elsewhere"}, replace(_NOTHING, partitions_differing=1)),
    ],
)
def test_partitions_are_compared_by_their_values(partitions: dict, expected: Counts) -> None:
    found = count(_SOURCE, {("sales", "t"): replace(_SEEN, partitions=partitions)})
    assert found == expected
    assert not found.equal


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("columns", (("id", "int"),)),
        ("keys", ()),
        ("format", "orc"),
        ("location", "s3://other"),
        ("properties", (("note0", "1"),)),
    ],
)
def test_a_definition_that_differs_counts_once(name: str, value: object) -> None:
    other = replace(_SEEN, **{name: value})
    assert differing(_SEEN, other) == [name]
    assert count(_SOURCE, {("sales", "t"): other}) == replace(_NOTHING, tables_differing=1)


@pytest.mark.parametrize("location", ["s3://lake/t", "s3://lake/t/", "s3a://lake/t"])
def test_locations_are_the_same_whatever_their_scheme_and_end(location: str) -> None:
    assert place(location) == "s3://lake/t"


def test_the_stream_is_cut_where_something_happens() -> None:
    stream = statements(1, 8)
    assert parts(stream, [2, 4]) == [stream[:2], stream[2:4], stream[4:]]


def test_the_table_has_a_column_for_each_contender() -> None:
    late = Result(replace(_NOTHING, tables_missing=6, tables_extra=14), None, 439, 0.1, 0.456, ("114 failed",))
    done = Result(_NOTHING, 2.4, 1362, 0.084, 0.355, ())
    assert report.markdown({"v1": late, "pysync glue": done}).splitlines() == [
        "|  | v1 | pysync glue |",
        "| --- | --- | --- |",
        "| tables missing / extra / differing | 6 / 14 / 0 | 0 / 0 / 0 |",
        "| partitions missing / extra / differing | 0 / 0 / 0 | 0 / 0 / 0 |",
        "| equal after the last statement | not in 240 s | 2 s |",
        "| writes: calls of Glue, statements of Athena | 439 | 1,362 |",
        "| a statement at the source, p50 / p95 | 100 / 456 ms | 84 / 355 ms |",
        "| it says | 114 failed | – |",  # noqa: RUF001
    ]
    bare = report.markdown({"no listener": replace(done, writes=0, carries=False)}).splitlines()
    assert [line for line in bare if not line.endswith("| – |")] == [  # noqa: RUF001
        "|  | no listener |",
        "| --- | --- |",
        "| a statement at the source, p50 / p95 | 84 / 355 ms |",
    ]
    assert report.as_json({"v1": late})["v1"]["counts"]["tables_missing"] == 6


def _agent(directory: Path, name: str = "HiveGlueCatalogSyncAgent-1.jar") -> None:
    with zipfile.ZipFile(directory / name, "w") as archive:
        archive.writestr("META-INF/maven/g/HiveGlueCatalogSyncAgent/pom.properties", "#Built\nversion=1.3.2\n")


def test_an_agent_is_told_by_its_version_and_the_hash_of_its_jar(tmp_path: Path) -> None:
    _agent(tmp_path)
    (tmp_path / "sdk.jar").touch()
    build = Build.of(tmp_path)
    assert {it.name for it in build.jars} == {"HiveGlueCatalogSyncAgent-1.jar", "sdk.jar"}
    assert build.version.startswith("1.3.2, SHA-256 ")


def test_an_agent_in_a_checkout_is_told_by_its_commit(tmp_path: Path) -> None:
    _agent(tmp_path)
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"]
    for arguments in (["init", "--quiet"], commit):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    assert Build.of(tmp_path).version.startswith("1.3.2, commit ")


@pytest.mark.parametrize("names", [[], ["HiveGlueCatalogSyncAgent-1.jar", "HiveGlueCatalogSyncAgent-2.jar"]])
def test_a_directory_must_have_one_agent(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        _agent(tmp_path, name)
    with pytest.raises(NoAgent, match=f"has {len(names)} jars"):
        Build.of(tmp_path)
