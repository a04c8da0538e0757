"""One receiver: a signed POST, and what its answer means; and whether it is there, while there is nothing to send.

Events are sent in CloudEvents' batched mode: one event a request would let through no more than twenty a second to a
receiver that is 50 ms away, and a backlog is applied faster than that.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import error_text
from pysync.base.timed_answers import TimedAnswer
from pysync.base.token import read_token
from pysync.notify.events import CloudEvent
from pysync.sections import NotifyConfig

_CONTENT = "application/cloudevents-batch+json; charset=utf-8"
_TIMEOUT_SECONDS = 10.0  # for each part of a request and of its answer
_PASSES = frozenset({408, 429})


class EventsRefused(PysyncError):
    """The receiver does not want these events: to send them again may not help."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like another: events go nowhere but to the address in pysync.toml."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _TimedAnswer(TimedAnswer):
    """An answer of 30 seconds at most."""

    timeouts = 3


class _TimedConnections(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Connections whose answers are timed."""

    def do_open(self, http_class: Any, req: urllib.request.Request, **arguments: Any) -> http.client.HTTPResponse:
        def timed(host: str, **options: Any) -> http.client.HTTPConnection:
            connection: http.client.HTTPConnection = http_class(host, **options)
            connection.response_class = _TimedAnswer
            return connection

        return super().do_open(timed, req, **arguments)


class Receiver:
    """Sends to the address of these settings. The secret is read at each request. `clock` gives seconds since 1970."""

    def __init__(self, settings: NotifyConfig, clock: Callable[[], float] = time.time) -> None:
        self._settings, self._clock = settings, clock
        # A proxy of the environment serves addresses elsewhere; plain HTTP goes to this machine only.
        proxies = [urllib.request.ProxyHandler({})] if settings.url.startswith("http:") else []
        self._opener = urllib.request.build_opener(_NoRedirects(), _TimedConnections(), *proxies)

    def send(self, events: Sequence[CloudEvent]) -> None:
        """Return once the receiver has taken them all.

        Raises EventsRefused for an answer that is no use trying again, any other PysyncError where the receiver, or the
        secret, is not there. No message has the address: it may hold a secret.
        """
        body = json.dumps(events, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        headers = {"Content-Type": _CONTENT, **signature(read_token(self._settings.secret_file), body, self._clock())}
        request = urllib.request.Request(self._settings.url, body, headers, method="POST")  # noqa: S310 - checked
        code = self._status(request)
        if not 200 <= code < 300:
            refuses = 300 <= code < 500 and code not in _PASSES
            raise (EventsRefused if refuses else PysyncError)(f"receiver {self._settings.name} answers {code}")

    def probe(self) -> None:
        """Return once its server answers, whatever that is. Raises as `send`, but for EventsRefused.

        `OPTIONS *` asks a server whether it is there, and none of its addresses: no workflow begins that is started by
        any request to the receiver's own. So it does not show that events will be taken.
        """
        read_token(self._settings.secret_file)
        request = urllib.request.Request(self._settings.url, method="OPTIONS")  # noqa: S310 - checked
        request.selector = "*"
        self._status(request)

    def _status(self, request: urllib.request.Request) -> int:
        """The status of the answer; its body is not read. Raises PysyncError if none comes."""
        name = f"receiver {self._settings.name}"
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except urllib.error.URLError as error:
            raise PysyncError(f"{name} cannot be reached: {_why(error.reason)}") from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise PysyncError(f"{name} does not answer: {_why(error)}") from None


def assert_receiver_answers(settings: NotifyConfig) -> None:
    """Raise PysyncError if the receiver's server, or the secret, is not there. Sends no event."""
    Receiver(settings).probe()


def signature(secret: str, body: bytes, now: float) -> dict[str, str]:
    """The headers that prove who has sent a body and when, as https://www.standardwebhooks.com has them."""
    number, at = f"msg_{hashlib.sha256(body).hexdigest()[:32]}", str(int(now))
    digest = hmac.digest(secret.encode(), f"{number}.{at}.".encode() + body, "sha256")
    signed = f"v1,{base64.b64encode(digest).decode()}"
    return {"Webhook-Id": number, "Webhook-Timestamp": at, "Webhook-Signature": signed}


def _why(reason: object) -> str:
    if isinstance(reason, OSError):
        return error_text(reason)
    return type(reason).__name__ if isinstance(reason, Exception) else str(reason)
