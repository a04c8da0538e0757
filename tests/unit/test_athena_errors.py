"""What Athena's failures mean: never is a throttled or denied statement refused for good."""

from __future__ import annotations

import pytest

from pysync.base.errors import PysyncError
from pysync.targets.athena.failures import Ending, failure
from pysync.targets.base import Forbidden, Missing, OutcomeUnknown, Rejected, Unavailable

TASK = "FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask. "


def wrapped(code, message):
    """As the Glue client's errors come through: with the name of the service, the status and the code."""
    what = f"Service: AmazonDataCatalog; Status Code: 400; Error Code: {code}; Request ID: 1; Proxy: null"
    return f"{TASK}MetaException(message:{message} ({what}))"


def of_s3(code, status):
    return (
        f"{TASK}MetaException(message:x (Service: Amazon S3; Status Code: {status}; Error Code: {code}; Proxy: null))"
    )


def kind_of(reason, number=None, state="FAILED", category=None):
    return type(failure(Ending(state, reason, number, category), "CREATE TABLE on target 'lake'"))


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        *((number, Unavailable) for number in (1400, 1401, 1403, 1404, 1405, 1406)),
        *((number, Forbidden) for number in (1500, 1501, 234)),
        *((number, OutcomeUnknown) for number in (100, 233, 299, 401)),
        (1006, Rejected),
        (1402, Rejected),
        (1110, Missing),
        (1301, Missing),
    ],
)
def test_types_that_tell(number, kind):
    assert kind_of("whatever it says: AccessDenied, Rate exceeded, ParseException", number) is kind


@pytest.mark.parametrize("number", [1003, None, 9999])
@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (wrapped("AccessDeniedException", "Insufficient Lake Formation permission(s): x"), Forbidden),
        (wrapped("ThrottlingException", "x"), Unavailable),
        (wrapped("InternalServiceException", "x"), OutcomeUnknown),
        (wrapped("InvalidInputException", "x"), Rejected),
        (wrapped("GlueEncryptionException", "x"), Forbidden),
        (TASK + "MetaException(message:Rate exceeded)", Unavailable),
        ("com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate", Unavailable),
        ("Access denied when writing output to url: s3://staging/x.txt", Forbidden),
        ("FAILED: SemanticException [Error 10072]: Database does not exist: db", Missing),
        ("FAILED: SemanticException [Error 10001]: Table not found db.t", Missing),
        ("FAILED: SemanticException [Error 10035]: Column repeated in partitioning columns", Rejected),
        (TASK + "AlreadyExistsException(message:Table t already exists)", Rejected),
        ("FAILED: ParseException line 1:7 cannot recognize input near 'Throttl' 'AccessDenied'", Rejected),
        ("line 1:8: mismatched input 'EXTERNL'. Expecting: 'OR', 'SCHEMA', 'TABLE'", Rejected),
        (TASK + "Unable to alter table. REPLACE COLUMNS is not supported for table db.t", Rejected),
        (TASK + "MetaException(message:Number of TABLE_VERSION resources exceeds the account limit)", Rejected),
        (TASK + "MetaException(message:Unable to execute HTTP request: Read timed out)", OutcomeUnknown),
        (of_s3("SlowDown", 503), Unavailable),
        (of_s3("InternalError", 500), OutcomeUnknown),
    ],
)  # fmt: skip
def test_reasons_that_tell_where_the_type_does_not(reason, number, kind):
    assert kind_of(reason, number) is kind


OWN_FAULTS = [
    TASK + "Cannot validate serde: com.example.SerDe",
    TASK + "java.lang.RuntimeException: MetaException(message:org.apache.hadoop.hive.serde2.SerDeException "
    "Encountered AvroSerdeException determining schema. Returning signal schema to indicate problem: Unable to read "
    "schema from given path: http://registry/x.avsc)",
    TASK + "java.util.regex.PatternSyntaxException: Unclosed group near index 1 (",
    "FAILED: NullPointerException Name is null",
    TASK + "java.lang.IllegalArgumentException: Can not create a Path from an empty string",
    "FAILED: Invalid column type name is too long",
    of_s3("NoSuchBucket", 404),
    TASK + "java.lang.NullPointerException",
    "",
]


@pytest.mark.parametrize("reason", OWN_FAULTS)
@pytest.mark.parametrize(("number", "category"), [(1003, None), (1003, 2), (None, 2), (1000, 2), (1004, 2), (9999, 2)])
def test_what_is_the_statements_own_fault_is_a_refusal_whatever_it_says(reason, number, category):
    """The Glue API may do what was asked for; without it, the event is parked with the reason."""
    assert kind_of(reason, number, category=category) is Rejected


@pytest.mark.parametrize("reason", OWN_FAULTS)
def test_what_nobody_has_classified_is_none(reason):
    assert kind_of(reason, 9999, category=3) is PysyncError
    assert kind_of(reason) is PysyncError


@pytest.mark.parametrize("reason", OWN_FAULTS)
@pytest.mark.parametrize("number", [None, 0, 9999])
def test_a_fault_of_athenas_own_is_tried_again(reason, number):
    assert kind_of(reason, number, category=1) is OutcomeUnknown


@pytest.mark.parametrize(
    ("number", "kind"),
    [(1401, Unavailable), (1404, Unavailable), (1500, Forbidden), (234, Forbidden), (100, OutcomeUnknown)],
)
def test_throttling_and_missing_rights_are_no_refusals_in_any_category(number, kind):
    assert {kind_of("x", number, category=category) for category in (1, 2, 3, None)} == {kind}


def test_somebody_cancelled_it():
    assert kind_of("Query cancelled by user", state="CANCELLED") is OutcomeUnknown


def test_the_message_is_one_short_line_and_says_what_and_why():
    error = failure(Ending("FAILED", "FAILED: ParseException\n\tline 1 " + "x" * 2000), "CREATE TABLE on target 'lake'")
    assert error.message.startswith("CREATE TABLE on target 'lake': FAILED: ParseException line 1 xxx")
    assert "\n" not in str(error)
    assert len(str(error)) <= 500
    assert "grant the permission" in str(failure(Ending("FAILED", "denied", 1500), "x"))
