"""Which options of `pysync init` an existing pysync.toml overrides."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.config import Config, load_config
from pysync.setup.conf_files import shipped
from pysync.setup.config_text import config_text
from pysync.setup.ignored_options import ignored
from pysync.setup.questions import config_values, locations, questions

ANSWERS = {
    "source_name": "east",
    "source_metastore": "thrift://a:9083",
    "target_kind": "athena",
    "target_name": "lake",
    "region": "eu-west-1",
    "work_group": "etl",
    "staging": "s3://bucket/x/",
}
OTHER = {
    "source_name": "west",
    "source_metastore": "thrift://b:9083",
    "target_kind": "glue",
    "target_name": "other",
    "region": "eu-north-1",
    "work_group": "other",
    "staging": "s3://other/",
    "target_metastore": "thrift://b:1",
}
PREFIXES = {"hdfs://a/b": "s3://c/d"}
SECOND = '\n[[targets]]\nname = "dr"\nkind = "hms"\nmetastore = "thrift://dr:9083"\n'


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    file = tmp_path_factory.mktemp("ignored") / "pysync.toml"
    values = config_values(ANSWERS, PREFIXES, token=Path("/x/token"), port=4711, state=Path("/x/queue"))
    file.write_text(config_text(shipped("pysync.toml"), values) + SECOND, encoding="utf-8")
    return load_config(file)


def flags(keys: set[str]) -> set[str]:
    return {f"--{key.replace('_', '-')}" for key in keys}


@given(st.sets(st.sampled_from(sorted(ANSWERS))), st.booleans())
def test_what_a_file_was_made_of_is_never_ignored(config: Config, keys: set[str], has_more: bool) -> None:
    answers = {key: ANSWERS[key] for key in keys}
    places = (4711, Path("/x/queue")) if has_more else (None, None)
    assert ignored(config, answers, PREFIXES if has_more else {}, port=places[0], state=places[1]) == []


@given(st.sets(st.sampled_from(sorted(ANSWERS.keys() - {"target_kind", "target_name"}))))
def test_every_option_that_differs_is_named(config: Config, differing: set[str]) -> None:
    answers = ANSWERS | {key: OTHER[key] for key in differing}
    assert set(ignored(config, answers, {}, port=None, state=None)) == flags(differing)


def test_places_and_locations_that_differ_are_named_too(config: Config) -> None:
    other = {"hdfs://a/b": "s3://other"}
    found = ignored(config, ANSWERS, other, port=1, state=Path("/y"))
    assert found == ["--location", "--bridge-port", "--state-dir"]


def test_of_several_targets_the_nearest_counts(config: Config) -> None:
    assert ignored(config, {"target_kind": "hms", "target_name": "dr"}, {}, port=None, state=None) == []
    found = ignored(config, {"target_kind": "hms", "target_name": "lake"}, {}, port=None, state=None)
    assert found in (["--target-kind"], ["--target-name"])


@pytest.mark.parametrize(
    ("key", "value", "is_ignored"),
    [
        ("work_group", "", True),
        ("target_metastore", "", False),
        ("target_metastore", "no address", True),
        ("region", "eu-west-1", False),
    ],
)
def test_an_empty_answer_stands_for_a_key_that_is_not_set(
    config: Config, key: str, value: str, is_ignored: bool
) -> None:
    answers = {"target_name": "lake", "target_kind": "athena", key: value}
    assert ignored(config, answers, {}, port=None, state=None) == sorted(flags({key} if is_ignored else set()))


def test_the_location_for_results_may_be_that_of_a_work_group() -> None:
    answers = {"target_kind": "athena"}
    assert {it.key: it.default for it in questions(answers)}["staging"] is None
    assert {it.key: it.default for it in questions(answers | {"work_group": "etl"})}["staging"] == ""


def test_locations_are_pairs() -> None:
    assert locations(["hdfs://a/b = s3://c/d"]) == PREFIXES
