"""What AWS's answers mean, and what it means when none comes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from botocore import exceptions as boto

from pysync.base.errors import PysyncError
from pysync.targets.aws.errors import classified, code, of_code
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.glue import GlueSettings, glue_target
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source
from tests.support.glue import answered


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answered("ThrottlingException", "slowly"), Unavailable),
        (answered("413", "Request Entity Too Large", 413), Rejected),
        (answered("SomethingNew", "Rate exceeded (Service: Glue)"), Unavailable),
        (answered("TooManyRequestsException"), Unavailable),
        (answered("RequestLimitExceeded", status=503), Unavailable),
        (answered("ExpiredTokenException"), Unavailable),
        (answered("UnrecognizedClientException"), Unavailable),
        (answered("InvalidSignatureException"), Unavailable),
        (answered("AccessDeniedException", "Insufficient Lake Formation permission(s)"), Forbidden),
        (answered("GlueEncryptionException"), Forbidden),
        (answered("ConcurrentModificationException"), Unavailable),
        (answered("ResourceNotReadyException"), Unavailable),
        (answered("InternalServiceException", status=500), OutcomeUnknown),
        (answered("OperationTimeoutException"), OutcomeUnknown),
        (answered("502", "Bad Gateway", 502), OutcomeUnknown),
        (answered("ValidationException", "Member must have length less than or equal to 25"), Rejected),
        (answered("InvalidInputException"), Rejected),
        (answered("EntityNotFoundException"), Rejected),
        (answered("AlreadyExistsException"), Rejected),
        (answered("ResourceNumberLimitExceededException"), Rejected),
        (answered("SomethingNew"), PysyncError),
        (boto.NoCredentialsError(), Unavailable),
        (boto.NoRegionError(), Unavailable),
        (boto.ProfileNotFound(profile="p"), Unavailable),
        (boto.TokenRetrievalError(provider="sso", error_msg="expired"), Unavailable),
        (boto.EndpointConnectionError(endpoint_url="http://x"), Unavailable),
        (boto.ConnectTimeoutError(endpoint_url="http://x"), Unavailable),
        (boto.SSLError(endpoint_url="http://x", error="cert"), Unavailable),
        (boto.ReadTimeoutError(endpoint_url="http://x"), OutcomeUnknown),
        (boto.ConnectionClosedError(endpoint_url="http://x"), OutcomeUnknown),
        (boto.ParamValidationError(report="bad"), Rejected),
        (boto.DataNotFoundError(data_path="x"), PysyncError),
    ],
)
def test_kinds(error: Exception, kind: type[PysyncError]) -> None:
    with pytest.raises(PysyncError) as raised, classified("put of db.t on target 'lake'"):
        raise error
    assert type(raised.value) is kind
    assert raised.value.message.startswith("put of db.t on target 'lake': ")
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [answered("InternalServiceException", status=500), boto.ReadTimeoutError(endpoint_url="http://x")]
)
def test_a_reading_has_no_unknown_outcome(error: Exception) -> None:
    with pytest.raises(Unavailable), classified("look", reading=True):
        raise error


def test_one_short_line_with_a_hint() -> None:
    with pytest.raises(Unavailable) as raised, classified("put"):
        raise answered("AccessDeniedException", "no\n\tway" + "x" * 9000)
    assert raised.value.message.startswith("put: AccessDeniedException: no wayxxx")
    assert len(raised.value.message) == 500
    assert "Lake Formation" in str(raised.value.hint)


def test_our_own_errors_and_other_bugs_pass() -> None:
    with pytest.raises(Rejected, match=r"^mine$"), classified("put"):
        raise Rejected("mine")
    with pytest.raises(KeyError), classified("put"):
        raise KeyError("bug")


def test_errors_of_single_items() -> None:
    assert isinstance(of_code("InternalServiceException", "x", "put"), OutcomeUnknown)
    assert isinstance(of_code("InvalidInputException", "x", "put"), Rejected)
    assert code(KeyError("x")) == ""


# --- what a real client raises


@contextmanager
def a_server(answer: bytes | None, *, reset: bool = False) -> Iterator[str]:
    """Something on loopback that answers every connection so, or never, or hangs up at once."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                connection.recv(65536)
                if answer is not None:
                    connection.sendall(answer)
                if answer is not None or reset:
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        for connection in held:
            connection.close()


def a_target(url: str) -> StoreTarget:
    settings = {"timeout_seconds": 0.3, "region": "eu-west-1", "endpoint_url": url}
    return glue_target(GlueSettings(name="lake", kind="glue", **settings))


HTML = b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>no</html>"


def test_nobody_there() -> None:
    with (
        closing(a_target("http://127.0.0.1:1")) as target,
        pytest.raises(Unavailable, match="cannot list the databases"),
    ):
        target.check()


@pytest.mark.parametrize(
    ("answer", "reset", "kind"),
    [(None, False, OutcomeUnknown), (None, True, OutcomeUnknown), (HTML, False, OutcomeUnknown)],
)
def test_no_answer_and_no_sense(answer: bytes | None, reset: bool, kind: type[PysyncError]) -> None:
    with a_server(answer, reset=reset) as url, closing(a_target(url)) as target:
        with pytest.raises(kind, match=r"PutDatabase of db on target 'lake', the Glue catalog in eu-west-1"):
            target.apply(Source().put_database("db"))
        with pytest.raises(Unavailable):
            target.tables("db")


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    with pytest.raises(Unavailable, match="Unable to locate credentials"):
        a_target("http://127.0.0.1:1")
