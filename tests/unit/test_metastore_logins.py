"""SASL PLAIN and thrift over HTTP, with a few bytes in place of a metastore; the real one is in tests/versions."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.metastore.secret_logins import PlainExchange, headers
from pysync.metastore.settings import LoginSettings

# The answer to get_all_databases: a strict message (REPLY), a list of one string, a stop.
ANSWER = b"\x80\x01\x00\x02\x00\x00\x00\x11get_all_databases\x00\x00\x00\x00"
ANSWER += b"\x0f\x00\x00\x0b\x00\x00\x00\x01\x00\x00\x00\x01a\x00"


@contextmanager
def server(*answers: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A port whose one connection answers each request with these bytes, and then ends; and what it was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connected, _ = listening.accept()
            with connected:
                for answer in answers:
                    heard.append(_request(connected))
                    connected.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], heard
        thread.join(10)


def _request(connected: socket.socket) -> bytes:
    """What comes; of HTTP a whole request."""
    data = connected.recv(1 << 16)
    while data.startswith(b"POST"):
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        if length and len(body) >= int(length[1]):
            break
        data += connected.recv(1 << 16)
    return data


def password(path: Path, text: str) -> LoginSettings:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return LoginSettings(user="ann", password_file=path)


def response(status: str, body: bytes, *lines: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + body


def test_all_is_said_at_once_and_only_the_end_of_the_line_is_taken_off(tmp_path: Path) -> None:
    exchange = PlainExchange(password(tmp_path / "p", " pass word \r\n"))
    assert (exchange.mechanism, exchange.first) == (b"PLAIN", b"\0ann\0 pass word ")
    assert b"".join(exchange.frames(b"x" * 200_000)) == b"x" * 200_000
    assert max(map(len, exchange.frames(b"x" * 200_000))) <= 65536


@pytest.mark.parametrize("text", ["", "\n", "a\nb", "a\0b"])
def test_a_password_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(MetastoreUnavailable, match="must hold one line of text"):
        PlainExchange(password(tmp_path / "p", text))


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    login = password(tmp_path / "p", "secret")
    (tmp_path / "p").chmod(0o640)
    with pytest.raises(MetastoreUnavailable, match="can be read by other users") as refused:
        PlainExchange(login)
    assert "secret" not in f"{refused.value} {refused.value.hint}"


def test_who_we_are_over_http(tmp_path: Path) -> None:
    token = password(tmp_path / "t", "aaa.bbb.ccc\n").password_file
    assert headers(None) == {}
    assert headers(None, "pysync-east") == {"x-actor-username": "pysync-east"}
    assert headers(LoginSettings(user="ann")) == {"x-actor-username": "ann"}
    assert headers(LoginSettings(token_file=token)) == {"Authorization": "Bearer aaa.bbb.ccc"}


def test_a_password_opens_a_connection_that_frames_its_data(tmp_path: Path) -> None:
    accepted = b"\x05\x00\x00\x00\x00"
    framed = len(ANSWER).to_bytes(4, "big") + ANSWER
    with server(accepted, framed) as (port, heard):
        access = MetastoreAccess.of(f"thrift://127.0.0.1:{port}", login=password(tmp_path / "p", "secret"))
        with Metastore(access) as metastore:
            assert metastore.databases() == ["a"]
    assert heard[0] == b"\x01\x00\x00\x00\x05PLAIN\x02\x00\x00\x00\x0b\0ann\0secret"
    assert heard[1][4:8] == b"\x80\x01\x00\x01"


def test_a_connection_of_http_carries_many_calls() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(ANSWER), ANSWER)
    with server(response("200 OK", ANSWER), chunked, response("200 OK", ANSWER)) as (port, heard):
        access = MetastoreAccess.of(f"http://127.0.0.1:{port}/hive", login=LoginSettings(user="ann"))
        with Metastore(access) as metastore:
            assert [metastore.databases() for _ in range(3)] == [["a"]] * 3
    assert len(heard) == 3
    assert all(output.startswith(b"POST /hive HTTP/1.1\r\n") for output in heard)
    assert all(b"\r\nx-actor-username: ann\r\n" in output for output in heard)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            response("401 Unauthorized", b"Authentication error: no user"),
            MetastoreUnavailable,
            "401 Authentication error",
        ),
        (response("405 Method Not Allowed", b"<html>"), MetastoreUnavailable, "HTTP 405 Method Not Allowed"),
        (response("404 Not Found", b""), MetastoreUnavailable, "HTTP 404 Not Found"),
        (response("500 Oops", b"broken"), MetastoreCallFailed, "did not answer get_all_databases: HTTP 500 broken"),
        (response("200 OK", ANSWER[:9]), MetastoreCallFailed, "the answer is cut off"),
        (b"\x80\x01\x00\x02\r\n\r\n", MetastoreCallFailed, "the answer is not HTTP"),
        (b"", MetastoreCallFailed, "did not answer get_all_databases"),
    ],
)
def test_each_way_to_fail_is_one_line(answer: bytes, kind: type[Exception], words: str) -> None:
    unwanted = pytest.raises(kind)
    with server(answer) as (port, _), Metastore(f"http://127.0.0.1:{port}") as metastore, unwanted as refused:
        metastore.databases()
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_client_of_thrift_is_told_that_it_is_http() -> None:
    unwanted, bad = pytest.raises(MetastoreUnavailable), response("400 Bad Request", b"")
    with server(bad) as (port, _), Metastore(f"thrift://127.0.0.1:{port}") as metastore, unwanted as refused:
        metastore.databases()
    assert "speaks HTTP" in str(refused.value)
    assert "http://host:port/metastore" in str(refused.value.hint)
