"""Sources of AWS credentials that hang, drip or send nonsense: the target waits, for a limited time, and says why."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import partialmethod
from pathlib import Path
from typing import Any

import botocore.credentials
import pytest

from pysync.base.timed_answers import TimedAnswer
from pysync.targets.aws import bounded_answers, credential_sources
from pysync.targets.aws.clients import client
from pysync.targets.aws.errors import classified
from pysync.targets.base import OutcomeUnknown, Unavailable
from pysync.targets.glue import GlueSettings
from tests.support import wait_until

ROLE = "arn:aws:iam::123456789012:role/pysync"
KEYS = {"Version": 1, "AccessKeyId": "own", "SecretAccessKey": "any"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [it for it in os.environ if it.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def lake(**values: Any) -> GlueSettings:
    return GlueSettings(**{"name": "lake", "kind": "glue", "region": "eu-west-1", **values})


# --- a program


def program(directory: Path, code: str, *, role: bool = False) -> None:
    """The profile `default` has its credentials from this script, or by the role of one that has."""
    file = directory / "program"
    file.write_text(code)
    command = f"credential_process = sh {shlex.quote(str(file))}\n"
    of_role = f"[default]\nrole_arn = {ROLE}\nsource_profile = source\n[profile source]\n{command}"
    (directory / "config").write_text(of_role if role else f"[default]\n{command}")


@pytest.mark.parametrize("role", [False, True])
@pytest.mark.parametrize("code", ["exec sleep 1000", "sleep 1000 &", "exec >&- 2>&-; sleep 1000"])
def test_a_program_that_hangs_is_ended_with_what_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, *, role: bool
) -> None:
    """Before: each lane of the target waited without end. It may leave a child behind that keeps its output open."""
    groups: list[int] = []

    def recorded(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = started(*arguments, **options)
        groups.append(process.pid)
        return process

    started = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", recorded)
    program(tmp_path, code, role=role)
    with pytest.raises(Unavailable, match=r"credential_process did not answer within 0\.3 s"):
        client(lake(timeout_seconds=0.3), "glue").get_databases()
    (group,) = groups
    wait_until(lambda: not running(group), what="the end of all of it")


def running(group: int) -> list[str]:
    """The processes of a group that do something: one that was killed stays until its parent has asked."""
    stats = [it.read_text().rpartition(")")[2].split() for it in Path("/proc").glob("[0-9]*/stat") if it.exists()]
    return [state for state, _, its_group, *_ in stats if int(its_group) == group and state != "Z"]


@pytest.mark.parametrize("where", [1, 2])
def test_a_program_that_prints_without_end_is_ended(tmp_path: Path, where: int) -> None:
    program(tmp_path, f"exec yes >&{where}")
    with pytest.raises(Unavailable, match=r"credential_process prints more than 1\.0 MiB"):
        client(lake(), "glue")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", "JSONDecodeError"),
        (b"\xff", "UnicodeDecodeError"),
        (b"[" * 100_000, "RecursionError"),
        (b"[]", "AttributeError"),
        (json.dumps({**KEYS, "AccessKeyId": 5}).encode(), "a key is no text"),
        (json.dumps({**KEYS, "Expiration": "soon"}).encode(), "Invalid timestamp"),
        (json.dumps({**KEYS, "Expiration": "2999-01-01T00:00:00"}).encode(), "Expiration has no zone"),
        (json.dumps({**KEYS, "Version": 2}).encode(), "Unsupported version '2'"),
    ],
)
def test_nonsense_is_no_bug_of_ours(tmp_path: Path, output: bytes, words: str) -> None:
    (tmp_path / "output").write_bytes(output)
    program(tmp_path, f"exec cat {shlex.quote(str(tmp_path / 'output'))}")
    with pytest.raises(Unavailable, match=words):
        client(lake(), "glue")


def test_a_program_that_fails_or_is_not_there_is_named(tmp_path: Path) -> None:
    program(tmp_path, r"printf 'no ticket \377' >&2; exit 3")
    with pytest.raises(Unavailable, match="no ticket"):
        client(lake(), "glue")
    (tmp_path / "config").write_text("[default]\ncredential_process = /nowhere/signer\n")
    with pytest.raises(Unavailable, match="/nowhere/signer"):
        client(lake(), "glue")


def test_a_program_that_hangs_later_holds_up_no_call_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials that end are asked for again before a call is signed."""
    soon = (datetime.now(timezone.utc) + timedelta(seconds=5)).isoformat()
    asked = shlex.quote(str(tmp_path / "asked"))
    keys = json.dumps({**KEYS, "Expiration": soon})
    program(tmp_path, f"test -e {asked} && exec sleep 1000\n: > {asked}\nprintf '%s' '{keys}'")
    glue = client(lake(), "glue")
    begin = credential_sources._Program.__init__
    late = partialmethod(lambda it, _, *rest, **how: begin(it, 0.3, *rest, **how))
    monkeypatch.setattr(credential_sources._Program, "__init__", late)
    with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"), classified("read", reading=True):
        glue.get_databases()


# --- metadata of a machine or a container


@contextmanager
def served(answer: bytes, part: bytes) -> Iterator[str]:
    """A server that answers each request so, and then sends this part again and again."""
    ended = threading.Event()

    def serve(connected: socket.socket) -> None:
        with connected, suppress(OSError):
            connected.recv(65536)
            connected.sendall(answer)
            while part and not ended.wait(0.005):
                connected.sendall(part)
            ended.wait()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connected, _ = server.accept()
                threading.Thread(target=serve, args=(connected,), daemon=True, name="serves").start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True, name="accepts").start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            ended.set()
            server.shutdown(socket.SHUT_RDWR)


WAYS = {
    "hangs": (b"", b""),
    "drips its status": (b"", b"H"),
    "drips headers": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
    "drips its body": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
}


@pytest.fixture(params=[*WAYS])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(TimedAnswer, "timeouts", 0.3)
    monkeypatch.setattr("time.sleep", lambda _: None)  # botocore's between its attempts
    with served(*WAYS[request.param]) as url:
        yield url


def test_metadata_of_a_machine_that_never_ends_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
    with pytest.raises(Unavailable, match="credentials"):
        client(lake(), "glue")


def test_a_container_whose_answer_never_ends_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
    monkeypatch.setattr(botocore.credentials.ContainerMetadataFetcher, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(botocore.credentials.ContainerMetadataFetcher, "SLEEP_TIME", 0)
    with pytest.raises(Unavailable, match="container"):
        client(lake(), "glue")


def test_a_service_whose_answer_never_ends_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "own")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    glue = client(lake(endpoint_url=url, timeout_seconds=1), "glue")
    with pytest.raises(OutcomeUnknown), classified("create"):
        glue.create_database(DatabaseInput={"Name": "d"})


@pytest.mark.parametrize("where", ["machine", "container"])
def test_of_metadata_no_more_is_read_than_a_bound(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_answers, "MOST_IN_ANSWER", 100_000)
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    with served(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", b"x" * 50_000) as url:
        name = "AWS_EC2_METADATA_SERVICE_ENDPOINT" if where == "machine" else "AWS_CONTAINER_CREDENTIALS_FULL_URI"
        monkeypatch.setenv(name, url)
        with pytest.raises(Unavailable, match="metadata: the answer has more than"):
            client(lake(), "glue")


def test_an_answer_has_its_time_from_its_socket() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(0.02)
        answer, began = TimedAnswer(here), time.monotonic()
        there.sendall(b"HTTP/1.1 200 OK\r\n")
        with pytest.raises(TimeoutError):
            answer.begin()
        assert time.monotonic() - began < 60
        here.settimeout(None)
        unlimited = TimedAnswer(here)
        there.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        unlimited.begin()
        assert unlimited.status == 204
