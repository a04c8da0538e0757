"""Somebody who visits the page without a browser: keeps cookies, sends forms, follows nothing."""

from __future__ import annotations

import html
import http.client
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

from argon2 import PasswordHasher

HOST = "127.0.0.1"


def write_passwords(path: Path, password: str, *users: str) -> None:
    """A password file as `pysync web-password` writes it, but with hashes that take no time to compare."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    path.write_text("".join(f"{user}:{cheap.hash(password)}\n" for user in users))
    path.chmod(0o600)


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer."""

    code: int
    headers: Mapping[str, str]
    body: str

    @property
    def text(self) -> str:
        """What a person reads: without tags, in single spaces."""
        return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", re.sub(r"<wbr>", "", self.body)).split()))

    @property
    def location(self) -> str:
        return self.headers.get("location", "")

    def field(self, name: str) -> str:
        """The value of the first hidden field of that name."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.body)
        assert found, f"no field {name}"
        return html.unescape(found[1])


class OnSocket(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__(HOST, timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


class PageVisitor:
    """A visitor of the page on a port of this machine."""

    def __init__(
        self, port: int, context: ssl.SSLContext | None = None, unix: Path | None = None, **headers: str
    ) -> None:
        """`unix` is a Unix socket that is taken in place of the port; `headers` go along with each request."""
        self.port = port
        self.context = context
        self.socket = unix
        self.headers = headers
        self.cookies: dict[str, str] = {}

    @property
    def origin(self) -> str:
        port = f":{self.port}" if self.socket is None else ""
        return f"{'https' if self.context else 'http'}://{HOST}{port}"

    def get(self, path: str, **headers: str) -> Seen:
        return self._ask("GET", path, None, headers)

    def post(
        self, path: str, fields: Mapping[str, str] | Sequence[tuple[str, str]] | None = None, **headers: str
    ) -> Seen:
        """Send a form as a browser does; `Origin=""` leaves that header out."""
        common = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        return self._ask("POST", path, urlencode(fields or {}), {**common, **headers})

    def send(self, path: str, body: str, **headers: str) -> Seen:
        """Send a body as it is."""
        return self._ask("POST", path, body, headers)

    def sign_in(self, user: str, password: str) -> Seen:
        return self.post("/login", {"user": user, "password": password, "next": "/"})

    def act(self, name: str, **fields: str) -> Seen:
        """Do something with the token of a page that is loaded for it, and see the page that follows."""
        csrf = self.get("/verify").field("csrf")
        done = self.post(f"/acts/{name}", {"csrf": csrf, "back": "/", **fields})
        return self.get(done.location) if done.code == 303 else done

    def _ask(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Seen:
        sent = {key: value for key, value in {**self.headers, **headers}.items() if value}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{key}={value}" for key, value in self.cookies.items())
        if self.socket is not None:
            connection: http.client.HTTPConnection = OnSocket(self.socket)
        elif self.context:
            connection = http.client.HTTPSConnection(HOST, self.port, timeout=60, context=self.context)
        else:
            connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            for line in answer.headers.get_all("set-cookie") or ():
                self._keep(line)
            found = {key.lower(): value for key, value in answer.getheaders()}
            return Seen(answer.status, found, answer.read().decode())
        finally:
            connection.close()

    def _keep(self, line: str) -> None:
        for name, morsel in SimpleCookie(line).items():
            if morsel["max-age"] == "0" or not morsel.value:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value
