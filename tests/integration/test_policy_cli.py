"""`pysync policy test`: the rule that decides, from a file alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.sidecars import assert_one_line, pysync_here

pytestmark = pytest.mark.smoke

CONFIG = """\
[source]
name = "onprem"
[queue]
directory = "{directory}/queue"
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://dr.example:9083"
policy = "sales.['.*'].['tmp_.*']"
databases = {{ "sal*" = "dr_sal*" }}
locations = {{ "hdfs://adh1" = "hdfs://adh2" }}
[[targets]]
name = "all"
kind = "hms"
metastore = "thrift://all.example:9083"
exclude = ["hr"]
tables = {{ "sales.o*" = "archive.o*" }}
"""
RULE = "policy \"sales.['.*'].['tmp_.*']\""
DATABASES = "databases sal* = dr_sal*"
ALL = "it has no include and no policy"
PLACE = "hdfs://adh1/warehouse/sales.db/orders"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pysync.toml"
    path.write_text(CONFIG.format(directory=tmp_path))
    return path


def policy_test(file: Path, *words: str) -> dict[str, list[tuple[object, ...]]]:
    done = pysync_here("policy", "test", *words, "-c", file, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return {
        it["object"]: [tuple(value for key, value in found.items() if key != "depends_on") for found in it["targets"]]
        for it in json.loads(done.stdout)["objects"]
    }


def test_each_target_tells_its_rule_and_what_becomes_of_the_name(file: Path) -> None:
    assert policy_test(file, "Sales.Orders", "sales.tmp_1", "hr", "sales", "--location", PLACE) == {
        "sales.orders": [
            ("dr", True, RULE, "dr_sales.orders", "hdfs://adh2/warehouse/sales.db/orders", None, DATABASES, [], None),
            ("all", True, ALL, "archive.orders", PLACE, None, "tables sales.o* = archive.o*", ["archive.orders"], None),
        ],
        "sales.tmp_1": [
            ("dr", False, f"{RULE} leaves it out", None, None, None, None, [], None),
            ("all", True, ALL, "sales.tmp_1", PLACE, None, None, [], None),
        ],
        "hr": [
            ("dr", False, f"it is not in {RULE}", None, None, None, None, [], None),
            ("all", False, "exclude 'hr' leaves it out", None, None, None, None, [], None),
        ],
        "sales": [
            ("dr", True, RULE, "dr_sales", "hdfs://adh2/warehouse/sales.db/orders", None, DATABASES, [], None),
            ("all", True, ALL, "sales", PLACE, None, None, [], None),
        ],
    }


def test_a_location_that_cannot_be_mapped_is_told_as_what_it_is(file: Path) -> None:
    (found,) = policy_test(file, "sales.t", "--target", "dr", "--location", "hdfs://adh1/../x")["sales.t"]
    assert found[:5] == ("dr", True, RULE, "dr_sales.t", None)
    assert "leaves its prefix" in str(found[5])


def test_people_get_a_table(file: Path) -> None:
    done = pysync_here("policy", "test", "sales.orders", "-c", file)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("sales.orders", "takes it", "dr_sales.orders", "archive.orders", "databases", "sal*"):
        assert words in done.stdout
    assert "all: archive.orders would have the name archive.orders, too. If the source has more than" in done.stdout
    assert "location" not in done.stdout


def test_a_catalog_that_is_not_written_at_the_target_parks_the_table(file: Path) -> None:
    file.write_text(file.read_text().replace('exclude = ["hr"]', 'include = ["@spark#*"]'))
    words = "is in the catalog spark, which pysync does not write at the target"
    (result,) = policy_test(file, "@spark#sales.orders", "--target", "all")["@spark#sales.orders"]
    assert any(words in str(it) for it in result)
    done = pysync_here("policy", "test", "@spark#sales.orders", "-c", file)
    assert f"all parks it: @spark#sales.orders {words}; rename it:" in done.stdout
    file.write_text(file.read_text().replace('include = ["@spark#*"]', 'include = ["@spark#*"]\ncatalogs = ["spark"]'))
    assert "parks it" not in pysync_here("policy", "test", "@spark#sales.orders", "-c", file).stdout


def test_what_cannot_be_tested_is_refused_in_one_line(file: Path) -> None:
    for option, valid in (
        ("--type=extern", "EXTERNAL_TABLE, MANAGED_TABLE"),
        ("--format=parq", "did you mean parquet?"),
    ):
        assert_one_line(pysync_here("policy", "test", "a.b", option, "-c", file), 2, "is not allowed", valid)
    assert_one_line(
        pysync_here("policy", "test", "a.b.c", "-c", file), 2, "'a.b.c' is not the name of a database or table"
    )
    done = pysync_here("policy", "test", "a.b", "--target", "rd", "-c", file)
    assert_one_line(done, 2, "has no target 'rd'", "dr")


TRAITS = """\
[[targets]]
name = "some"
kind = "hms"
metastore = "thrift://some.example:9083"
include_schemes = ["hdfs"]
include_types = ["EXTERNAL_TABLE"]
include_formats = ["parquet", "orc"]
include_owners = ["etl*"]
exclude_parameters = ["private=*"]
"""


def decided(file: Path, *words: str) -> tuple[bool, str, list[str]]:
    done = pysync_here("policy", "test", "sales.orders", *words, "--target=some", "-c", file, "--json")
    (found,) = json.loads(done.stdout)["objects"][0]["targets"]
    return found["taken"], found["rule"], found["depends_on"]


def test_rules_about_the_definition_decide_as_far_as_it_is_given(file: Path) -> None:
    file.write_text(file.read_text() + TRAITS)
    everything = ["include_schemes", "include_types", "include_formats", "include_owners", "exclude_parameters"]
    assert decided(file) == (True, ALL, everything)
    assert decided(file, "--location=hdfs://a/b") == (True, ALL, everything[1:])
    assert decided(file, "--location=s3://a/b") == (False, "include_schemes does not have s3", [])
    assert decided(file, "--type=managed_table") == (False, "include_types does not have MANAGED_TABLE", [])
    assert decided(file, "--parameter=a=b", "--parameter=private=x") == (False, "exclude_parameters has private", [])
    assert decided(file, "--format=csv") == (False, "include_formats does not have csv", [])
    assert decided(file, "--owner=bi") == (False, "include_owners does not have bi", [])
    known = ("--format=Parquet", "--owner=etl_1", "--parameter=a=b")
    whole = ("--location=hdfs://a/b", "--type=EXTERNAL_TABLE", *known)
    assert decided(file, *whole) == (True, ALL, [])
    assert decided(file, *whole[:2]) == (True, ALL, everything[2:])


def test_a_partition_is_taken_or_left_out_by_the_filter(file: Path) -> None:
    file.write_text(file.read_text() + TRAITS + """where = "day >= '2026-01-01' and hour < 12"\n""")
    whole = ("--location=hdfs://a/b", "--type=EXTERNAL_TABLE", "--format=orc", "--owner=etl", "--parameter=a=b")
    rule = """where "day >= '2026-01-01' and hour < 12" leaves the partition out"""
    assert decided(file, *whole, "--partition=day=2026-01-01/hour=9") == (True, ALL, [])
    assert decided(file, *whole, "--partition=day=2025-12-31/hour=9") == (False, rule, [])
    assert decided(file, *whole, "--partition=day=2026-01-01/hour=13") == (False, rule, [])
    assert decided(file, *whole, "--partition=region=eu") == (True, ALL, [])
    done = pysync_here("policy", "test", "sales.orders", "--partition=day", "-c", file)
    assert_one_line(done, 2, "'day' is not the name of a partition", "KEY=VALUE")


def test_what_the_name_alone_cannot_decide_is_said(file: Path) -> None:
    file.write_text(file.read_text() + TRAITS)
    done = pysync_here("policy", "test", "sales.orders", "--target=some", "-c", file)
    assert "by its name; the definition decides by" in " ".join(done.stdout.split())
