"""The parts of the embedded AWS that need no server: the rules of the model, pages, faults, the reading of trees."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.lab.aws.application import Application
from pysync.lab.aws.ddl import failure
from pysync.lab.aws.faults import AwsFault, AwsFaults, CallCounts, fault_of
from pysync.lab.aws.glue import Glue
from pysync.lab.aws.paging import page
from pysync.lab.aws.refusals import AwsRefusal
from pysync.lab.aws.statements import Node, NotForAthena, identifier, read_statement, read_view
from pysync.lab.aws.strict import Strict

LINE = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=255)
CONTROL = st.sampled_from([chr(number) for number in range(32) if chr(number) != "\t"] + ["\ufffe", "\uffff"])
TEXTS = st.text(max_size=20)
TREES = st.recursive(TEXTS.map(Node), lambda inner: st.builds(Node, TEXTS, st.lists(inner, max_size=4)))


@pytest.fixture(scope="module")
def strict() -> Strict:
    return Strict("glue", "ValidationException")


def column(comment: Any) -> dict[str, Any]:
    storage = {"Columns": [{"Name": "x", "Comment": comment}]}
    return {"DatabaseName": "d", "TableInput": {"Name": "t", "StorageDescriptor": storage}}


@given(comment=LINE)
def test_a_comment_of_one_line_is_let_through(strict: Strict, comment: str) -> None:
    strict.check("CreateTable", column(comment))
    strict.check("CreateTable", column(comment[:254] + "\t"))


@given(start=LINE, control=CONTROL, end=LINE)
def test_a_control_character_is_refused(strict: Strict, start: str, control: str, end: str) -> None:
    with pytest.raises(AwsRefusal, match="regular expression pattern"):
        strict.check("CreateTable", column(f"{start[:100]}{control}{end[:100]}"))


@pytest.mark.parametrize(("length", "allowed"), [(255, True), (256, False)])
def test_a_character_beyond_the_basic_plane_counts_once(strict: Strict, length: int, allowed: bool) -> None:
    if allowed:
        strict.check("CreateTable", column("\U0001f41d" * length))
    else:
        with pytest.raises(AwsRefusal, match="length less than or equal to 255"):
            strict.check("CreateTable", column("\U0001f41d" * length))


@pytest.mark.parametrize("wrong", [7, ["x"], {"a": "b"}])
def test_a_value_of_another_type_is_refused(strict: Strict, wrong: Any) -> None:
    with pytest.raises(AwsRefusal) as refused:
        strict.check("CreateTable", column(wrong))
    assert refused.value.code == "SerializationException"
    assert "tableInput.storageDescriptor.columns.1.member.comment is not a string" in refused.value.message


@pytest.mark.parametrize(("transaction", "allowed"), [("é1-.", True), ("a b", False), ("a\n", False)])
def test_unicode_categories_are_understood(strict: Strict, transaction: str, allowed: bool) -> None:
    request = {"DatabaseName": "d", "TransactionId": transaction}
    if allowed:
        strict.check("GetTables", request)
    else:
        with pytest.raises(AwsRefusal, match="regular expression"):
            strict.check("GetTables", request)


def test_an_enumeration_is_held_to(strict: Strict) -> None:
    function = {"DatabaseName": "d", "FunctionInput": {"OwnerType": "CAT"}}
    with pytest.raises(AwsRefusal, match=r"enum value set.*USER"):
        strict.check("CreateUserDefinedFunction", function)


def statistics(number: int, **changes: Any) -> dict[str, Any]:
    data = {"NumberOfNulls": 1, "NumberOfDistinctValues": 2, "MinimumValue": 0.5, **changes}
    item = {
        "ColumnName": "c",
        "ColumnType": "double",
        "AnalyzedTime": 1,
        "StatisticsData": {"Type": "DOUBLE", "DoubleColumnStatisticsData": data},
    }
    return {"DatabaseName": "d", "TableName": "t", "ColumnStatisticsList": [item] * number}


@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        (statistics(25), None),
        (statistics(26), "length less than or equal to 25"),
        (statistics(1, NumberOfNulls=-1), "value greater than or equal to 0"),
        (statistics(1, NumberOfNulls=None), "must not be null"),
        (statistics(1, MinimumValue="x"), "is not a double"),
        (statistics(1, MinimumValue=float("nan")), "is not a double"),
        (statistics(1, MinimumValue=float("-inf")), "is not a double"),
    ],
)
def test_column_statistics_have_the_limits_of_the_model(
    strict: Strict, request_: dict[str, Any], refusal: str | None
) -> None:
    if refusal is None:
        strict.check("UpdateColumnStatisticsForTable", request_)
    else:
        with pytest.raises(AwsRefusal, match=refusal):
            strict.check("UpdateColumnStatisticsForTable", request_)


def test_null_is_nothing(strict: Strict) -> None:
    strict.check("GetTables", {"DatabaseName": "d", "Expression": None})
    with pytest.raises(AwsRefusal, match="'databaseName' failed to satisfy constraint: Member must not be null"):
        strict.check("GetTables", {"DatabaseName": None})


def test_an_operation_that_is_none_is_refused(strict: Strict) -> None:
    with pytest.raises(AwsRefusal, match="UnknownOperationException"):
        strict.check("MakeTea", {})


@given(items=st.lists(st.integers(), max_size=40), size=st.integers(1, 10), asked=st.none() | st.integers(1, 10))
def test_the_pages_are_the_whole_in_order(items: list[int], size: int, asked: int | None) -> None:
    found: list[int] = []
    request: dict[str, Any] = {"MaxResults": asked}
    while True:
        answer = page(items, request, size, "Items")
        assert len(answer["Items"]) <= (asked or size)
        found += answer["Items"]
        if "NextToken" not in answer:
            break
        request["NextToken"] = answer["NextToken"]
    assert found == items


@given(token=st.text(min_size=1))
def test_a_token_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(AwsRefusal, match="InvalidInputException"):
        page([1, 2, 3], {"NextToken": token}, 1, "Items")


def test_a_fault_is_used_up_and_hits_its_target_only() -> None:
    faults = AwsFaults()
    faults.add(AwsFault(target="Glue.GetTable", code="A", count=2))
    faults.add(AwsFault(target="Glue.GetTable", code="B"))
    assert faults.take("Glue.GetTables") is None
    taken = [faults.take("Glue.GetTable") for _ in range(4)]
    assert [fault.code if fault else None for fault in taken] == ["A", "A", "B", None]


@pytest.mark.parametrize("values", [{}, {"code": "A"}, {"target": "Glue.GetTable", "color": 1}])
def test_a_fault_has_a_target_and_no_unknown_members(values: dict[str, Any]) -> None:
    with pytest.raises(AwsRefusal, match="a fault needs a target"):
        fault_of(values)


@given(tree=TREES)
def test_a_tree_is_read_as_it_was_written(tree: Node) -> None:
    def lines(node: Node, depth: int) -> list[str]:
        own = f"{depth} {base64.b64encode(node.text.encode()).decode()}"
        return [own, *(line for child in node.children for line in lines(child, depth + 1))]

    root = Node("TOK_SHOWDATABASES", [tree])
    written = "\n".join([*lines(root, 0), "0 " + base64.b64encode(b"<EOF>").decode()])
    if not {node.text for node in root.walk()} & {"TOK_TABNAME", "TOK_CASCADE"}:
        assert read_statement(written, "d").tree == root


@given(name=st.text(min_size=1))
def test_a_name_in_backticks_is_read_as_it_was_meant(name: str) -> None:
    assert identifier("`" + name.replace("`", "``") + "`") == name.lower()


VIEWS = {
    "CREATE VIEW v AS SELECT 1": ("d", "v", "SELECT 1", False),
    'create or replace view "Other"."V" as\nselect 2': ("other", "v", "select 2", True),
    "CREATE VIEW o.v AS SELECT ' AS '": ("o", "v", "SELECT ' AS '", False),
}


@pytest.mark.parametrize("text", VIEWS)
def test_a_view_is_recognised(text: str) -> None:
    view = read_view(text, "d")
    assert view is not None
    assert (view.database, view.name, view.query, view.replaces) == VIEWS[text]


def test_only_a_view_is_one() -> None:
    assert read_view("CREATE EXTERNAL TABLE view_as (a int)", "d") is None
    with pytest.raises(NotForAthena, match="backquoted"):
        read_view("CREATE VIEW `v` AS SELECT 1", "d")


REASONS = {
    "FAILED: ParseException line 1:1": (2, 1006, False),
    "FAILED: SemanticException [Error 10001]: Table not found t": (2, 1110, False),
    "FAILED: SemanticException [Error 10072]: Database does not exist: d": (2, 1301, False),
    "DDLTask. MetaException(message:x (Status Code: 400; Error Code: AccessDeniedException; y))": (2, 1500, False),
    "DDLTask. MetaException(message:x (Status Code: 400; Error Code: ThrottlingException; y))": (1, 1401, True),
    "DDLTask. AlreadyExistsException(message:Table t already exists)": (2, 1003, False),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_has_a_type(reason: str) -> None:
    found = failure(reason)
    assert (found.category, found.type, found.retryable) == REASONS[reason]
    assert str(found) == reason


def asked(target: str, body: bytes) -> tuple[str, dict[str, Any]]:
    """The status and the answer of an application, by WSGI."""
    words: list[str] = []
    application = Application({"Glue": Glue()}, AwsFaults(), CallCounts(), CallCounts())
    environ = {"HTTP_X_AMZ_TARGET": target, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    answer = application(
        {"REQUEST_METHOD": "POST", "PATH_INFO": "/", **environ}, lambda status, _: words.append(status)
    )
    return words[0], json.loads(b"".join(answer))


BROKEN_BODIES = {b"{": "not JSON", b"[]": "not a JSON object", b'{"Name": 7}': "name is not a string"}


@pytest.mark.parametrize("body", BROKEN_BODIES)
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    status, answer = asked("AWSGlue.GetDatabase", body)
    assert (status, answer["__type"]) == ("400 Bad Request", "SerializationException")
    assert BROKEN_BODIES[body] in answer["message"]
