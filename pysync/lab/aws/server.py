"""EmbeddedAws: the bench in a process of its own."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from pysync.base.errors import PysyncError
from pysync.lab.bound_process import BoundProcess, tail

REGION = "us-east-1"
_POLL = 0.02
_PATIENCE = 10.0
_TAIL_LINES = 30


class EmbeddedAws:
    """Glue, S3 and, with `athena`, Athena, at one address on loopback; a context manager. It keeps all in memory.

    For trying things out and for tests: any credentials will do, so whoever reaches the port may do anything.

    - `directory`: its log and the files of its tables; a temporary one unless given.
    - `port`: 0 takes a free one.
    - `athena`: whether it runs DDL, which takes a Java and some 4 s at the start. Without it a start takes 1 or 2 s.
    - `latency`: how long a statement stays queued, and then runs, at least, in seconds.
    - `quotas`: whether Athena throttles calls as it does by default (`pysync.lab.aws.quotas`).
    - `timeout`: how long a start may take, in seconds.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        port: int = 0,
        athena: bool = True,
        latency: float = 0.0,
        quotas: bool = False,
        timeout: float = 120.0,
    ) -> None:
        self._temporary = None if directory else TemporaryDirectory(prefix="pysync-aws-")
        self.directory = (directory or Path(self._temporary.name if self._temporary else "")).absolute()
        self.log_file = self.directory / "aws.log"
        self._options = ["--port", str(port), "--latency", str(latency)]
        self._options += [option for option, on in (("--athena", athena), ("--quotas", quotas)) if on]
        self._timeout = timeout
        self._process: BoundProcess | None = None
        self._url = ""

    def __enter__(self) -> EmbeddedAws:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Its address, for all the services: `http://127.0.0.1:port`; empty before the start."""
        return self._url

    @property
    def region(self) -> str:
        """The region that its clients sign for; any other would do."""
        return REGION

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """The id of its process; PysyncError if it does not run."""
        if self._process is None or not self._process.running:
            raise PysyncError("the embedded AWS is not running")
        return self._process.pid

    def start(self) -> EmbeddedAws:
        """Start it and return when it answers; PysyncError, with the end of its log, if it does not."""
        if self.running:
            raise PysyncError(f"the embedded AWS is already running, at {self._url}")
        self.directory.mkdir(parents=True, exist_ok=True)
        url_file = self.directory / "url"
        url_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pysync.lab.aws.serve", str(self.directory), *self._options]
        self._process = BoundProcess(command, log=self.log_file, cwd=self.directory, env=_child_environment())
        try:
            self._wait_for(url_file, self._process)
        except BaseException:
            self.stop()
            raise
        self._url = url_file.read_text(encoding="utf-8")
        return self

    def stop(self) -> None:
        """End it, and forget all that it kept. Harmless if it does not run."""
        if self._process is not None:
            self._process.stop(_PATIENCE)
        if self._temporary is not None:
            self._temporary.cleanup()

    def environment(self) -> dict[str, str]:
        """The environment variables that bring boto3, and whatever uses it, here: address, region, credentials."""
        return {
            "AWS_ENDPOINT_URL": self._url,
            "AWS_ACCESS_KEY_ID": "embedded",
            "AWS_SECRET_ACCESS_KEY": "embedded",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str, **config: Any) -> Any:
        """A boto3 client that makes each request once; `config` are settings of botocore's Config."""
        import boto3  # noqa: PLC0415, an extra
        from botocore.config import Config  # noqa: PLC0415

        # No proxies: one that the environment names cannot reach this loopback.
        settings = {"retries": {"total_max_attempts": 1}, "proxies": {}, **config}
        return boto3.session.Session().client(
            service,
            endpoint_url=self._url,
            region_name=REGION,
            aws_access_key_id="embedded",
            aws_secret_access_key="embedded",  # noqa: S106, any will do
            config=Config(**settings),
        )

    def fault(self, target: str, *, items: Sequence[int] = (), **members: Any) -> None:
        """Let the next call of `target` go wrong; the members are those of `pysync.lab.aws.faults.AwsFault`."""
        self._control("POST", "faults", {"target": target, "items": list(items), **members})

    def clear_faults(self) -> None:
        """Forget the faults that are still to come."""
        self._control("DELETE", "faults")

    def calls(self) -> dict[str, int]:
        """How often each call was made since the last reset: `{"Glue.GetTable": 2}`."""
        counted: dict[str, int] = self._control("GET", "calls")["calls"]
        return counted

    def statements(self) -> dict[str, int]:
        """How many statements of each kind Athena ran since the last reset: `{"CREATE TABLE": 1}`."""
        counted: dict[str, int] = self._control("GET", "calls")["statements"]
        return counted

    def reset_calls(self) -> None:
        """Count from zero again."""
        self._control("DELETE", "calls")

    def _control(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/_bench/{path}", data=data, method=method)  # noqa: S310, our own
        # As in `client`: without the proxies of the environment.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=self._timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise PysyncError(f"the embedded AWS refuses the request: {error.read().decode()}") from error

    def _wait_for(self, url_file: Path, process: BoundProcess) -> None:
        deadline = time.monotonic() + self._timeout
        while not url_file.exists():
            late = time.monotonic() > deadline
            if late or not process.running:
                problem = f"did not answer within {self._timeout:g} s" if late else "ended during its start"
                end = tail(self.log_file, _TAIL_LINES)
                raise PysyncError(f"the embedded AWS {problem}", f"see the end of its log, {self.log_file}:\n{end}")
            time.sleep(_POLL)


def _child_environment() -> dict[str, str]:
    """The environment of this process, without what would send the bench's own calls elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(("AWS_", "MOTO_"))}
