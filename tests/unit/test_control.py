"""Control: how the command line asks the running sidecar."""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import PysyncError
from pysync.control.client import SOCKET, ask
from pysync.control.server import ControlServer

OTHER = 4711


def refuse(_):
    raise PysyncError("not like this", "like that")


def slow(_):
    time.sleep(0.05)
    return {}


def stumble(_):
    raise RuntimeError("a bug of the sidecar")


COMMANDS = {
    "status": lambda request: {"pid": 1, "asked": dict(request)},
    "refuse": refuse,
    "stumble": stumble,
    "slow": slow,
    "large": lambda _: {"text": "ä" * 1_000_000},
}


@pytest.fixture
def serve():
    servers = []

    def start(directory):
        server = ControlServer(directory, COMMANDS)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def shared_directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("control")
    server = ControlServer(directory, COMMANDS)
    server.start()
    yield directory
    server.stop()


def raw(directory, request: bytes) -> bytes:
    """Whatever the sidecar sends back to `request`."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(10)
        connection.connect(str(directory / SOCKET))
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.readline()


def test_a_command_is_answered_with_what_it_returns(serve, tmp_path):
    serve(tmp_path)
    assert ask(tmp_path, "status", target="dr", deep=[1, None]) == {
        "pid": 1,
        "asked": {"target": "dr", "deep": [1, None], "who": f"uid {os.getuid()} (command line)"},
    }


def test_a_refusal_comes_back_as_one(serve, tmp_path):
    serve(tmp_path)
    with pytest.raises(PysyncError) as refused:
        ask(tmp_path, "refuse")
    assert (refused.value.message, refused.value.hint) == ("not like this", "like that")


def test_an_unknown_command_is_told_which_there_are(serve, tmp_path):
    serve(tmp_path)
    with pytest.raises(PysyncError, match="known commands: large, refuse, slow, status, stumble"):
        ask(tmp_path, "explode")


def test_a_bug_in_a_command_is_answered_and_the_next_caller_served(serve, tmp_path, capfd):
    serve(tmp_path)
    with pytest.raises(PysyncError, match="RuntimeError"):
        ask(tmp_path, "stumble")
    assert ask(tmp_path, "status")["pid"] == 1
    assert "Exception occurred during processing" not in capfd.readouterr().err


def test_a_large_answer_comes_whole(serve, tmp_path):
    serve(tmp_path)
    assert len(ask(tmp_path, "large")["text"]) == 1_000_000


@pytest.mark.parametrize(
    "request_line",
    [
        b"\n",
        b"{\n",
        b"[]\n",
        b"5\n",
        b'"status"\n',
        b"{}\n",
        b'{"command": null}\n',
        b'{"command": []}\n',
        b'{"command": "__class__"}\n',
        b"\xff\xfe\n",
        b"[" * 60_000 + b"\n",
        b"x" * 70_000,
        b'{"command": "status", "a": ' + b"1" * 5000 + b"}\n",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_garbage_is_answered_with_a_refusal(shared_directory, request_line, capfd):
    assert "error" in json.loads(raw(shared_directory, request_line))
    assert ask(shared_directory, "status")["pid"] == 1
    assert "Traceback" not in capfd.readouterr().err


@given(st.binary(max_size=60).filter(lambda data: b"status" not in data))
def test_any_bytes_are_answered(shared_directory, data):
    assert "error" in json.loads(raw(shared_directory, data.replace(b"\n", b"") + b"\n"))


def test_a_caller_that_leaves_early_disturbs_nobody(serve, tmp_path, capfd):
    serve(tmp_path)
    for request in (b"", b'{"command"', b'{"command": "large"}\n'):
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
            connection.connect(str(tmp_path / SOCKET))
            connection.sendall(request)
    assert ask(tmp_path, "status")["pid"] == 1
    assert "Traceback" not in capfd.readouterr().err


def test_only_the_owner_may_ask(serve, tmp_path):
    serve(tmp_path)
    assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user")
def test_another_user_is_told_whose_the_queue_is(serve):
    with tempfile.TemporaryDirectory() as name:  # in one that others reach, unlike tmp_path
        serve(Path(name))
        os.seteuid(OTHER)
        try:
            with pytest.raises(PysyncError, match="belongs to another user") as told:
                ask(Path(name), "status")
        finally:
            os.seteuid(0)
        assert told.value.hint == "run the command as the user of the sidecar, or as root"


def test_a_directory_with_a_very_long_name_is_no_trouble(serve, tmp_path):
    deep = tmp_path / ("d" * 120) / ("é" * 60)
    deep.mkdir(parents=True)
    server = serve(deep)
    assert (deep / SOCKET).is_socket()
    assert ask(deep, "status")["pid"] == 1
    server.stop()
    with pytest.raises(PysyncError, match="no sidecar runs"):
        ask(deep, "status")


def test_a_socket_left_by_a_killed_sidecar_is_replaced(serve, tmp_path):
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as left:
        left.bind(str(tmp_path / SOCKET))
    with pytest.raises(PysyncError, match="no sidecar runs"):
        ask(tmp_path, "status")
    serve(tmp_path)
    assert ask(tmp_path, "status")["pid"] == 1


GONE = "the directory is not there: if it was moved, move it back; else "


@pytest.mark.parametrize(("place", "gone"), [("", ""), ("absent", GONE), ("absent" * 40, GONE)])
def test_without_a_sidecar_one_line_says_so_and_what_to_do(tmp_path, place, gone):
    with pytest.raises(PysyncError) as refused:
        ask(tmp_path / place, "status")
    line = str(refused.value)
    assert line == f"no sidecar runs on the queue in {tmp_path / place}; {gone}start the sidecar: pysync run -c FILE"


def test_after_the_end_the_socket_is_gone(serve, tmp_path):
    serve(tmp_path).stop()
    assert not (tmp_path / SOCKET).exists()


def test_what_never_began_can_be_stopped(tmp_path):
    ControlServer(tmp_path, COMMANDS).stop()
    assert not (tmp_path / SOCKET).exists()


@pytest.mark.parametrize("answer", [b"", b"\n", b"nonsense\n", b"[]\n", b"{}\n"])
def test_an_answer_that_is_none_is_a_refusal_too(tmp_path, answer):
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as stranger:
        stranger.bind(str(tmp_path / SOCKET))
        stranger.listen(1)

        def serve_one():
            connection, _ = stranger.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=serve_one)
        thread.start()
        with pytest.raises(PysyncError, match="no valid answer"):
            ask(tmp_path, "status")
        thread.join()


def test_many_callers_at_once_are_answered(shared_directory):
    """Before: with five in the queue the others were told that the sidecar does not answer."""
    with ThreadPoolExecutor(100) as pool:
        assert list(pool.map(lambda _: ask(shared_directory, "slow"), range(100))) == [{}] * 100
