"""Where botocore looks for credentials: a program, metadata of a machine or container. Each has its time and bounds.

botocore waits for a program without end, and reads whatever these sources send. What it asks of AWS's services has the
bounds of all clients (`clients`).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from botocore.credentials import (
    AssumeRoleProvider,
    ContainerProvider,
    CredentialResolver,
    InstanceMetadataProvider,
    ProcessProvider,
)
from botocore.exceptions import BotoCoreError, CredentialRetrievalError
from botocore.utils import parse_timestamp

from pysync.base.text import size
from pysync.targets.aws.bounded_answers import METADATA, BoundedHttp

_MOST_OUTPUT = 1024 * 1024
_AT_ONCE = 64 * 1024
_ENDS_SECONDS = 1.0
_TEXTS = ("access_key", "secret_key", "token", "account_id")


def bound(resolver: CredentialResolver, seconds: float) -> CredentialResolver:
    """The same chain, whose programs answer within so many seconds, or are ended."""
    # botocore has no public way to any of these.
    for it in resolver.providers:
        if isinstance(it, ProcessProvider):
            _bound_program(it, seconds)
        elif isinstance(it, AssumeRoleProvider):  # the profile from which a role is taken on may name a program
            builder = it._profile_provider_builder
            builder._create_process_provider = _bounding(builder._create_process_provider, seconds)
        elif isinstance(it, InstanceMetadataProvider):
            it._role_fetcher._session = BoundedHttp(it._role_fetcher._session, METADATA)
        elif isinstance(it, ContainerProvider):
            it._fetcher._session = BoundedHttp(it._fetcher._session, METADATA)
    return resolver


def _bounding(create: Callable[..., ProcessProvider], seconds: float) -> Callable[..., ProcessProvider]:
    return lambda *arguments, **named: _bound_program(create(*arguments, **named), seconds)


def _bound_program(provider: ProcessProvider, seconds: float) -> ProcessProvider:
    provider._popen = partial(_Program, seconds)
    provider._retrieve_credentials_using = partial(_retrieved, provider._retrieve_credentials_using)
    return provider


def _retrieved(retrieve: Callable[[str], Mapping[str, Any]], command: str) -> Mapping[str, Any]:
    """What the program prints, if botocore can use it. Raises CredentialRetrievalError for anything that is wrong."""
    try:
        return _usable(retrieve(command))
    except BotoCoreError:
        raise
    except Exception as error:
        # Not the text of what it printed, which may be a secret.
        what = str(error) if type(error) is ValueError or isinstance(error, OSError) else type(error).__name__
        raise _no_credentials(f"the output of credential_process cannot be used: {what}") from error


def _usable(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same. Raises ValueError for what botocore would stumble over later."""
    if not all(isinstance(answer[it] or "", str) for it in _TEXTS):
        raise ValueError("a key is no text")
    if answer["expiry_time"] is not None and parse_timestamp(answer["expiry_time"]).tzinfo is None:
        raise ValueError("Expiration has no zone")
    return answer


def _no_credentials(reason: str) -> CredentialRetrievalError:
    return CredentialRetrievalError(provider=ProcessProvider.METHOD, error_msg=reason)


class _Program:
    """A program as botocore starts it, in place of `subprocess.Popen`."""

    def __init__(self, seconds: float, arguments: list[str], **pipes: Any) -> None:
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._process = subprocess.Popen(arguments, start_new_session=True, **pipes)
        self.returncode: int | None = None

    def communicate(self) -> tuple[bytes, bytes]:
        """What it prints, and its errors. Raises CredentialRetrievalError if it takes too long, or prints too much.

        It is ended then, with all that it has started.
        """
        try:
            printed, errors = self._output()
            self.returncode = self._process.wait(self._left())
        except subprocess.TimeoutExpired:
            self._kill()
            raise self._too_late() from None
        except BaseException:
            self._kill()
            raise
        return printed, errors.decode(errors="replace").encode()

    def _kill(self) -> None:
        """End it. One of another user, as by sudo, goes on without its pipes; it is not waited for."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_SECONDS)

    def _output(self) -> tuple[bytes, bytes]:
        parts: dict[Any, bytearray] = {self._process.stdout: bytearray(), self._process.stderr: bytearray()}
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            for pipe in parts:
                stack.enter_context(pipe)
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(self._left()):
                    data = os.read(key.fd, _AT_ONCE)
                    if not data:
                        selector.unregister(key.fileobj)
                    parts[key.fileobj] += data
                if sum(map(len, parts.values())) > _MOST_OUTPUT:
                    raise _no_credentials(f"credential_process prints more than {size(_MOST_OUTPUT)}")
        printed, errors = map(bytes, parts.values())
        return printed, errors

    def _left(self) -> float:
        """The seconds that are left. Raises CredentialRetrievalError if none are."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise self._too_late()
        return left

    def _too_late(self) -> CredentialRetrievalError:
        return _no_credentials(f"credential_process did not answer within {self._seconds:g} s")
