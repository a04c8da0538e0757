"""An AWS that sends more than it is asked for: no more is read than a bound, and what is too large is refused alone."""

from __future__ import annotations

import http.server
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from pysync.targets.aws import bounded_answers
from pysync.targets.aws.clients import client
from pysync.targets.aws.errors import classified
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.glue.s3_directory import S3Directory
from pysync.targets.glue.settings import GlueSettings


class Endless(io.RawIOBase):
    """A body without end, which knows how much of it was read."""

    def __init__(self) -> None:
        self.sent = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "all of it is wanted"
        self.sent += size
        return b"x" * size


class LyingClient:
    """A client of S3 whose only object is said to have ten bytes."""

    def __init__(self) -> None:
        self.body = Endless()

    def head_object(self, **_: Any) -> dict[str, Any]:
        return {"ETag": "a", "ContentLength": 10}

    def get_object(self, **_: Any) -> dict[str, Any]:
        return {"Body": self.body}


def test_no_more_is_read_than_the_object_has() -> None:
    lying = LyingClient()
    opened = S3Directory(lying, "s3://bucket/prefix").open("name")
    assert opened is not None
    assert opened.read() == b"x" * 10
    assert (lying.body.sent, lying.body.closed) == (10, True)


class LyingGlue(http.server.BaseHTTPRequestHandler):
    """GetDatabase is answered as it should be, GetTable without end, and GetDatabases with half an answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        call = self.headers["X-Amz-Target"].rpartition(".")[2]
        self.send_response(200)
        if call == "GetDatabase":
            body = json.dumps({"Database": {"Name": "d"}}).encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.close_connection = True
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            while call == "GetTable":
                self.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    def log_message(self, *_: Any) -> None:
        """Nothing: the test says what goes wrong."""


@contextmanager
def lying_glue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), LyingGlue) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        made = client(GlueSettings(name="lake", kind="glue", region="eu-west-1", endpoint_url=url), "glue")
        try:
            yield made
        finally:
            made.close()
            server.shutdown()
            thread.join()


def test_an_answer_without_end_is_about_its_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_answers, "MOST_IN_ANSWER", 1024 * 1024)
    with lying_glue(monkeypatch) as glue:
        with pytest.raises(Rejected, match="the answer has more than"), classified("read d.t", reading=True):
            glue.get_table(DatabaseName="d", Name="t")
        assert glue.get_database(Name="d")["Database"] == {"Name": "d"}


def test_an_answer_that_is_cut_off_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # botocore's between its attempts
    with lying_glue(monkeypatch) as glue, pytest.raises(Unavailable), classified("read", reading=True):
        glue.get_databases()
