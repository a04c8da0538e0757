"""Several catalogs at once, each with position, filters and drops of its own; and faults, through the whole replay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pysync.lab.aws import EmbeddedAws
from pysync.model.event import Kind
from tests.support import table, wait_until
from tests.support.events import database, event
from tests.support.glue_drains import Drains, catalog, drains, history, of, renamed
from tests.support.presto_views import decoded

pytestmark = pytest.mark.smoke

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def east() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as found, pytest.MonkeyPatch.context() as patch:
        for key, value in found.environment().items():
            if key != "AWS_ENDPOINT_URL":
                patch.setenv(key, value)
        yield found


@pytest.fixture(scope="module")
def west(east: EmbeddedAws) -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as found:
        yield found


@pytest.fixture
def replay(tmp_path: Path, east: EmbeddedAws) -> Iterator[Drains]:
    with drains(tmp_path) as found:
        yield found
    east.clear_faults()


def test_two_catalogs_each_with_position_filters_and_drops_of_its_own(
    replay: Drains, east: EmbeddedAws, west: EmbeddedAws
) -> None:
    """While the one throttles for ever the other goes on; then the first catches up, and ends with what it takes."""
    replay.add("glue", name="east", endpoint_url=east.url, include=["two.keep*"], drops="suppress", max_rate=1000)
    replay.add("glue", name="west", endpoint_url=west.url, databases={"two": "second"}, region="eu-west-1")
    made = [
        event(Kind.CREATE_DATABASE, after=[database("two", locationUri="s3://b/two")], sequence=1),
        *(event(Kind.CREATE_TABLE, after=[named(it)], sequence=2 + at) for at, it in enumerate(("keep", "other"))),
    ]
    replay.append(made)
    replay.finish("east")
    replay.finish("west")
    east.fault("Glue.GetTable", code="AccessDeniedException", count=1_000_000)
    late = [
        event(Kind.CREATE_TABLE, after=[named("keep2")], sequence=4),
        event(Kind.DROP_TABLE, before=[named("keep")], attributes={"delete_data": "false"}, sequence=5),
    ]
    replay.append(late)
    replay.finish("west")
    wait_until(lambda: replay.status("east")["state"] == "waiting", what="the waiting of the denied target")
    assert replay.queued("east") == 2
    east.clear_faults()
    replay.finish("east")
    assert sorted(of(catalog(east.client("glue")), "two")) == ["two", "two.keep", "two.keep2"]
    assert sorted(of(catalog(west.client("glue")), "second")) == ["second", "second.keep2", "second.other"]
    assert replay.queue.target("east").parked.count() == replay.queue.target("west").parked.count() == 0


def test_a_view_arrives_as_athena_reads_it_with_its_tables_under_their_new_names(
    replay: Drains, east: EmbeddedAws
) -> None:
    """In one window with its table, which it waits for; when all of it comes again, nothing is written."""
    place = {"endpoint_url": east.url, "include": ["three.*"], "databases": {"three": "third"}}
    replay.add("glue", name="views", lanes=4, **place)
    made = [
        event(Kind.CREATE_DATABASE, after=[database("three", locationUri="s3://b/three")], sequence=11),
        event(Kind.CREATE_TABLE, after=[named("base", "three")], sequence=12),
        event(Kind.CREATE_TABLE, after=[view("inner_one", "base")], sequence=13),
        event(Kind.CREATE_TABLE, after=[view("outer_one", "inner_one")], sequence=14),
    ]
    replay.append(made)
    replay.finish("views")
    glue = east.client("glue")
    found = {it["Name"]: it for it in glue.get_tables(DatabaseName="third")["TableList"]}
    for name, base in (("inner_one", "base"), ("outer_one", "inner_one")):
        text = found[name]["ViewOriginalText"]
        assert (decoded(text) or {})["originalSql"] == f'SELECT "{base}"."id" AS "id" FROM "third"."{base}" AS "{base}"'
        assert found[name]["ViewExpandedText"] == f"SELECT `{base}`.`id` FROM `third`.`{base}`"
    replay.append([replace(it, sequence=it.sequence + 10) for it in made])
    east.reset_calls()
    replay.finish("views")
    assert "Glue.UpdateTable" not in east.calls()
    assert found == {it["Name"]: it for it in glue.get_tables(DatabaseName="third")["TableList"]}


def view(name: str, base: str) -> Any:
    found = named(name, "three")
    found.tableType, found.sd.location = "VIRTUAL_VIEW", None
    found.viewOriginalText = f"select id from {base}"
    found.viewExpandedText = f"SELECT `{base}`.`id` FROM `three`.`{base}`"
    return found


def named(name: str, owner: str = "two") -> Any:
    found = table(owner, name)
    found.sd.location = f"s3://b/{owner}/{name}"
    return found


FAULTS: dict[str, list[dict[str, Any]]] = {
    "throttled, again and again": [
        {"target": f"Glue.{call}", "code": "ThrottlingException", "reason": "Rate exceeded", "count": 4}
        for call in ("GetTable", "CreateTable", "BatchCreatePartition")
    ],
    "expired credentials": [
        {"target": "Glue.GetTable", "code": "ExpiredTokenException", "count": 5},
        {"target": "Glue.BatchCreatePartition", "code": "ExpiredTokenException", "count": 3},
    ],
    "access denied": [
        {"target": "Glue.CreateTable", "code": "AccessDeniedException", "count": 5},
        {"target": "Glue.UpdateTable", "code": "AccessDeniedException", "count": 3},
    ],
    "errors of single items": [
        {"target": "Glue.BatchCreatePartition", "code": code, "items": [0, 3, 7], "count": 2}
        for code in ("InternalServiceException", "OperationTimeoutException", "ThrottlingException")
    ],
    "cut off in the middle": [
        {"target": f"Glue.{call}", "lose": True, "count": 4}
        for call in ("BatchCreatePartition", "BatchUpdatePartition", "CreateTable", "BatchGetPartition")
    ],
    "done, and the answer lost": [
        {"target": f"Glue.{call}", "after": True, "count": 4}
        for call in (
            "BatchCreatePartition",
            "BatchUpdatePartition",
            "BatchDeletePartition",
            "CreateTable",
            "DeleteTable",
        )
    ],
    "done, and said to have failed": [
        {"target": f"Glue.{call}", "after": True, "code": "InternalServiceException", "count": 4}
        for call in ("BatchCreatePartition", "CreateTable", "UpdateTable", "DeleteTable")
    ],
}


@pytest.fixture(scope="module")
def undisturbed(west: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the history leads to where nothing fails."""
    with drains(tmp_path_factory.mktemp("undisturbed")) as found:
        found.add("glue", name="calm", endpoint_url=west.url)
        found.append(history("calm"))
        found.finish("calm")
        assert found.queue.target("calm").parked.count() == 0
    return of(catalog(west.client("glue")), "calm")


@pytest.mark.crash
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_change_nothing_about_the_end(
    replay: Drains, east: EmbeddedAws, undisturbed: dict[str, Any], fault: str
) -> None:
    """Nothing is lost, nothing dropped, nothing parked, and what is done twice is as if it were done once."""
    name = f"storm{next(_NUMBERS)}"
    for members in FAULTS[fault]:
        east.fault(**members)
    replay.add("glue", name="storm", endpoint_url=east.url, window=60)
    replay.append(history(name))
    replay.finish("storm")
    assert replay.queue.target("storm").parked.count() == 0
    assert of(catalog(east.client("glue")), name) == renamed(undisturbed, "calm", name)


def test_a_resource_link_is_never_taken_over(replay: Drains, east: EmbeddedAws) -> None:
    """Also where objects of others are adopted: it leads to a table of another account."""
    glue = east.client("glue")
    glue.create_database(DatabaseInput={"Name": "three"})
    leads = {"CatalogId": "210987654321", "DatabaseName": "theirs", "Name": "t"}
    glue.create_table(DatabaseName="three", TableInput={"Name": "t", "TargetTable": leads})
    replay.add("glue", name="east", endpoint_url=east.url, databases={"two": "three"}, on_conflict="adopt")
    changed = table("two", "t", parameters={"by": "pysync"}, location="s3://b/two/t")
    for at, made in enumerate((event(Kind.CREATE_TABLE, after=[changed]), event(Kind.DROP_TABLE, before=[changed])), 1):
        replay.append([replace(made, sequence=at)])
        replay.finish("east")
    there = glue.get_table(DatabaseName="three", Name="t")["Table"]
    assert (there["TargetTable"], there.get("Parameters", {})) == (leads, {})
    create, drop = (it.reason for it in replay.queue.target("east").parked.events())
    assert "is a resource link" in create
    assert "waits" in drop
