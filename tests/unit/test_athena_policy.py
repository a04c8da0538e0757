"""conf/iam-policy.json: for each mode the rights that the code needs, and no other."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name

ROOT = Path(__file__).parents[2]
POLICY = json.loads((ROOT / "conf" / "iam-policy.json").read_text())

# The rights that Athena asks of whoever runs DDL, by AWS's documentation; it calls Glue in that one's name.
BY_STATEMENTS = {
    *("CreateDatabase", "UpdateDatabase", "DeleteDatabase", "CreateTable", "UpdateTable", "DeleteTable"),
    *("CreatePartition", "BatchCreatePartition", "UpdatePartition", "DeletePartition", "BatchDeletePartition"),
}

BY_PYATHENA = {"GetQueryResults"}


def allowed(mode, service):
    """The actions of a service that the mode's policy allows."""
    actions = [action for statement in POLICY[mode]["Statement"] for action in statement["Action"]]
    return {name for prefix, name in (action.split(":") for action in actions) if prefix == service}


def called(service, *packages):
    """The operations of a service whose boto3 methods the source names."""
    operations = botocore.session.get_session().get_service_model(service).operation_names
    methods = {xform_name(name): name for name in operations}
    found = set()
    for package in packages:
        for path in (ROOT / "pysync" / "targets" / package).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "value", None)
                found |= {methods[name]} if isinstance(name, str) and name in methods else set()
    return found


@pytest.fixture(scope="module")
def glue_calls():
    return called("glue", "glue", "athena", "aws")


@pytest.fixture(scope="module")
def glue_reads(glue_calls):
    return {name for name in glue_calls if name.startswith(("Get", "BatchGet"))}


def test_the_source_is_understood(glue_calls):
    assert {"GetTable", "BatchUpdatePartition", "DeleteUserDefinedFunction", "GetPartitions"} <= glue_calls
    assert {"GetWorkGroup", "StartQueryExecution", "BatchGetQueryExecution"} <= called("athena", "athena")


def test_glue(glue_calls):
    assert allowed("glue", "glue") == glue_calls
    assert allowed("glue", "athena") == set()


def test_the_tags_of_lake_formation():
    """No statement writes them."""
    calls = called("lakeformation", "glue", "aws")
    assert {mode: allowed(mode, "lakeformation") for mode in POLICY} == {
        "glue": calls,
        "athena": calls,
        "athena-never": set(),
    }
    assert calls == {"AddLFTagsToResource", "GetResourceLFTags"}


def test_athena(glue_calls):
    assert allowed("athena", "glue") == glue_calls | BY_STATEMENTS
    assert allowed("athena", "athena") == BY_PYATHENA | called("athena", "athena")


def test_athena_without_the_glue_api(glue_reads):
    by_the_api = {
        "GetUserDefinedFunction",
        "GetPartitionIndexes",
        *(it for it in glue_reads if it.startswith("GetColumnStatistics")),
    }
    assert allowed("athena-never", "glue") == (glue_reads - by_the_api) | BY_STATEMENTS
    assert allowed("athena-never", "athena") == BY_PYATHENA | called("athena", "athena")


@pytest.mark.parametrize("mode", POLICY)
def test_nothing_is_allowed_for_everything(mode):
    for statement in POLICY[mode]["Statement"]:
        assert statement["Effect"] == "Allow"
        assert not [action for action in statement["Action"] if "*" in action]
        # For the calls of Lake Formation IAM knows no other resource.
        is_narrow = not all(action.startswith("lakeformation:") for action in statement["Action"])
        assert statement["Resource"] == ["*"] or is_narrow
        assert "*" not in statement["Resource"] or not is_narrow
        assert not {"s3:DeleteObject", "iam:PassRole"} & set(statement["Action"]), "no file is ever deleted"
    sids = [statement["Sid"] for statement in POLICY[mode]["Statement"]]
    assert len(set(sids)) == len(sids)


@pytest.mark.parametrize("mode", POLICY)
def test_an_encrypted_catalog_can_be_read_and_written(mode):
    """Glue encrypts and decrypts in the caller's name; so does Athena with its results."""
    assert allowed(mode, "kms") == {"Decrypt", "Encrypt", "GenerateDataKey"}


@pytest.mark.parametrize("mode", POLICY)
def test_of_the_data_only_the_logs_of_tables_can_be_read(mode):
    places = [
        (action, place) for it in POLICY[mode]["Statement"] for action in it["Action"] for place in it["Resource"]
    ]
    data = {(action, place) for action, place in places if "DATA-BUCKET" in place}
    assert ("s3:GetObject", "arn:aws:s3:::DATA-BUCKET/*_delta_log/*") in data
    assert ("s3:ListBucket", "arn:aws:s3:::DATA-BUCKET") in data
    assert {
        place for action, place in data if action not in {"s3:GetBucketLocation", "s3:ListBucketMultipartUploads"}
    } == {
        "arn:aws:s3:::DATA-BUCKET",
        "arn:aws:s3:::DATA-BUCKET/*_delta_log/*",
        "arn:aws:s3:::DATA-BUCKET/*.hoodie/*",
    }


@pytest.mark.parametrize("mode", POLICY)
def test_it_is_no_longer_than_iam_takes(mode):
    assert len("".join(json.dumps(POLICY[mode]).split())) < 6144
