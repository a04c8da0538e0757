"""`[[targets]]` of kind athena: what is refused, and what the Glue side takes over."""

from __future__ import annotations

import pytest

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.targets.athena import KIND, AthenaSettings
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.kinds import kind_names, target_kind

HEAD = '[source]\nname = "onprem"\n[[targets]]\nname = "lake"\nkind = "athena"\n'


@pytest.fixture
def loaded(tmp_path):
    def load(text):
        path = tmp_path / "pysync.toml"
        path.write_text(HEAD + text)
        return load_config(path).targets[0]

    return load


def test_the_kind_is_found():
    assert "athena" in kind_names()
    assert target_kind("athena") is KIND


def test_the_least_that_it_needs(loaded):
    found = loaded('staging = "s3://bucket/athena/"')
    assert (found.glue_api, found.catalog, found.work_group) == ("when-needed", None, None)
    assert loaded('work_group = "etl"').staging is None
    assert found.lanes == 16, "below the 20 statements of DDL that Athena runs at once for an account"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", r"targets\[0\]: set staging, or a work_group that has a location"),
        ('staging = "hdfs://nn/x"', r"targets\[0\].staging: "),
        ('staging = "s3://"', r"targets\[0\].staging: "),
        ('work_group = "a b"', r"targets\[0\].work_group: "),
        ('work_group = "w"\nglue_api = "sometimes"', r"targets\[0\].glue_api: "),
        ('work_group = "w"\nstatement_timeout_seconds = 0', r"targets\[0\].statement_timeout_seconds: "),
        ('work_group = "w"\nglue_endpoint_url = "vpce-1"', r"targets\[0\].glue_endpoint_url: "),
        ('work_group = "w"\nlanes = 65', r"targets\[0\].lanes: "),
        ('work_group = "w"\npoll_seconds = 0', r"targets\[0\].poll_seconds: "),
        ('work_group = "w"\ncatalog_id = "123456789012"', r"targets\[0\]: catalog_id is set, but catalog is not"),
        ('work_group = "w"\ndelete_data = true', r"targets\[0\].delete_data: the Glue Data Catalog holds no files"),
        ('work_group = "w"\nsecret_key = "x"', r"targets\[0\].secret_key: unknown key"),
    ],
)
def test_refused(loaded, text, problem):
    with pytest.raises(UsageError, match=problem):
        loaded(text)


def test_the_glue_side_has_the_same_place_rules_and_clients():
    settings = AthenaSettings(
        name="lake",
        kind="athena",
        work_group="etl",
        region="eu-west-1",
        catalog_id="123456789012",
        catalog="other",
        on_conflict="adopt",
        lanes=7,
        max_rate=3.0,
        create_missing_databases=True,
        assume_role={"arn": "arn:aws:iam::123456789012:role/x"},
    )
    found = settings.of_glue()
    for name in AwsSettings.model_fields.keys() - {"kind"}:
        assert getattr(found, name) == getattr(settings, name), name
    assert found._clients is settings._clients


def test_an_interval_of_the_target_is_the_glue_sides_too(loaded):
    found = loaded('work_group = "w"\nlog_schemas_every = "90m"')
    assert found.of_glue().log_schemas_every == found.log_schemas_every == 5400


def test_settings_with_an_interval_can_be_dumped_and_read_again(loaded):
    found = loaded('work_group = "w"\nlog_schemas_every = "90m"')
    assert AthenaSettings.model_validate_json(found.model_dump_json(by_alias=True)) == found
