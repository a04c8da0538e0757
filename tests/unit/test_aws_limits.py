"""What Glue takes of texts: our limits against those of its own model, and what is cut."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.targets.aws import texts
from pysync.targets.aws.texts import TextLimit, checked, fitted, length, s3_location
from pysync.targets.aws.value_lists import joined, parted
from pysync.targets.base import Rejected

MODEL = botocore.session.get_session().get_service_model("glue")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=600)


@pytest.mark.parametrize(
    ("limit", "structure", "member"),
    [
        (texts.NAME, "TableInput", "Name"),
        (texts.NAME, "Column", "Name"),
        (texts.NAME, "UserDefinedFunctionInput", "ClassName"),
        (texts.TYPE, "Column", "Type"),
        (texts.COMMENT, "Column", "Comment"),
        (texts.DESCRIPTION, "DatabaseInput", "Description"),
        (texts.LOCATION, "StorageDescriptor", "Location"),
        (texts.DATABASE_LOCATION, "DatabaseInput", "LocationUri"),
        (texts.URI, "ResourceUri", "Uri"),
        (texts.FORMAT, "StorageDescriptor", "InputFormat"),
        (texts.VIEW_TEXT, "TableInput", "ViewExpandedText"),
    ],
)
def test_limits_are_those_of_glues_model(limit: TextLimit, structure: str, member: str) -> None:
    of_model(limit, MODEL.shape_for(structure).members[member].metadata)


@pytest.mark.parametrize(
    ("limit", "shape"),
    [
        (texts.KEY, "KeyString"),
        (texts.VALUE, "ParametersMapValue"),
        (texts.PARTITION_VALUE, "ValueString"),
    ],
)
def test_limits_of_what_is_in_lists_and_maps(limit: TextLimit, shape: str) -> None:
    of_model(limit, MODEL.shape_for(shape).metadata)


def of_model(limit: TextLimit, rules: dict[str, Any]) -> None:
    assert (limit.shortest, limit.longest) == (rules.get("min", 0), rules["max"])
    pattern = rules.get("pattern", "")
    expected = texts.NAME if pattern and r"\r\n" not in pattern else texts.DESCRIPTION if pattern else texts.VALUE
    assert limit.characters == expected.characters


@settings(deadline=None)
@given(TEXTS)
def test_what_fits_is_left_and_what_does_not_is_named(text: str) -> None:
    changes: list[str] = []
    found = fitted(texts.COMMENT, text, "comment", changes)
    assert checked(texts.COMMENT, found, "comment") == found
    assert bool(changes) == (found != text)
    assert text.startswith(found) or any("spaces" in change for change in changes)


def test_a_comment_is_cut_between_characters() -> None:
    changes: list[str] = []
    assert fitted(texts.COMMENT, "😀" * 200, "comment", changes) == "😀" * 127
    assert changes == ["comment: cut from 400 to 255 characters"]
    assert fitted(texts.COMMENT, "я" * 255, "comment", []) == "я" * 255, "it is characters that count, not bytes"


def test_lines_become_one() -> None:
    changes: list[str] = []
    assert fitted(texts.COMMENT, "a\nb\tc\x00", "comment", changes) == "a b\tc "
    assert changes == ["comment: characters that Glue does not accept are replaced by spaces"]
    assert fitted(texts.DESCRIPTION, "a\r\nb", "description", changes) == "a\r\nb"


@pytest.mark.parametrize(
    ("limit", "text", "words"),
    [
        (texts.NAME, "", "table name has 0 characters; Glue accepts 1 to 255"),
        (texts.NAME, "x" * 256, "table name has 256 characters"),
        (texts.NAME, "a\nb", r"table name has characters that Glue does not accept: 'a\\nb'"),
        (texts.VALUE, "x" * 512_001, "512,001 characters; Glue accepts 0 to 512,000"),
        (texts.PARTITION_VALUE, "x" * 1025, "1,025"),
    ],
)
def test_what_cannot_be_held_is_refused_in_a_line(limit: TextLimit, text: str, words: str) -> None:
    with pytest.raises(Rejected, match=words) as refused:
        checked(limit, text, "table name")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("s3a://b/k", "s3://b/k"),
        ("S3N://b/k", "s3://b/k"),
        ("s3://b/s3a://x", "s3://b/s3a://x"),
        ("s3,://b", "s3,://b"),
        ("hdfs://s3a://b", "hdfs://s3a://b"),
    ],
)
def test_schemes(location: str, expected: str) -> None:
    assert s3_location(location) == expected


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5))
def test_lists_of_values_come_back(values: list[str]) -> None:
    assert parted(joined(values)) == values


def test_lists_of_values_as_the_hive_client_writes_them() -> None:
    assert joined(["a$b"]) == "3$a$b"
    assert joined(["😀", ""]) == "2$😀0$"
    assert length("😀") == 2


@settings(deadline=None)
@given(TEXTS)
def test_any_text_is_some_list(text: str) -> None:
    found = parted(text)
    assert found == [text] or joined(found) == text or all(part.isascii() for part in text.split("$")[:1])
