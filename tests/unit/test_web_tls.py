"""Where the page listens: on loopback, or on another address with TLS and a password; and who is let in how long."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from pysync.base.errors import UsageError
from pysync.sections import load_outline
from pysync.web import connections as visitors
from pysync.web.passwords import set_password
from pysync.web.server import HOST, WebConfig, WebServer
from tests.support.certificates import Authority, Signed
from tests.support.pages import FakeSidecar
from tests.support.visitors import PageVisitor

RIGHT = "correct horse battery"
TLS = 'tls_certificate = "c"\ntls_key = "k"\n'
BELONG = "web: tls_certificate and tls_key belong together; set both or neither"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def signed(authority: Authority) -> Signed:
    return authority.sign("page", HOST)


@pytest.fixture
def users(tmp_path: Path, cheap_hashes: None) -> Path:
    set_password(tmp_path / "passwords", "alice", RIGHT)
    return tmp_path / "passwords"


@pytest.fixture
def web(signed: Signed, users: Path) -> Iterator[WebServer]:
    files = {"tls_certificate": signed.certificate, "tls_key": signed.key, "password_file": users}
    sidecar = FakeSidecar()
    server = WebServer(WebConfig(port=0, **files), sidecar.status, sidecar.commands())
    server.start()
    yield server
    server.stop()


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.file))


def refused(tmp_path: Path, web: str) -> str:
    file = tmp_path / "pysync.toml"
    file.write_text(f'[source]\nname = "a"\n[web]\n{web}[[targets]]\nname = "dr"\nkind = "faulty"\n')
    with pytest.raises(UsageError) as error:
        load_outline(file)
    return str(error.value)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('host = "0.0.0.0"\n', 'host = "0.0.0.0" can be reached from other machines; set tls_certificate, tls_key and'),
        ('host = "::"\n', 'host = "::" can be reached from other machines'),
        ('host = "10.0.0.5"\npassword_file = "p"\n', "can be reached from other machines"),
        ('host = "10.0.0.5"\n' + TLS, "can be reached from other machines"),
        ('tls_certificate = "c"\n', BELONG),
        ('tls_key = "k"\n', BELONG),
        ('host = "localhost"\n', "web.host: 'localhost' is not an IP address; write 127.0.0.1, 10.0.0.5 or 0.0.0.0"),
        ('host = ""\n', "web.host: '' is not an IP address"),
    ],
)
def test_what_would_be_open_to_others_is_refused_as_it_is_read(tmp_path: Path, lines: str, problem: str) -> None:
    assert problem in refused(tmp_path, lines)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"host": "127.0.0.9"},
        {"host": "::1"},
        {"host": "10.0.0.5", "tls_certificate": "c", "tls_key": "k", "password_file": "p"},
    ],
)
def test_loopback_and_an_address_with_tls_and_a_password_are_taken(settings: dict[str, str]) -> None:
    assert WebConfig(port=1, **settings).host == settings.get("host", HOST)


def test_the_page_speaks_tls(web: WebServer, authority: Authority) -> None:
    visitor = PageVisitor(web.port, trusting(authority))
    assert web.url == f"https://{HOST}:{web.port}/"
    seen = visitor.sign_in("alice", RIGHT)
    assert (seen.code, "secure" in seen.headers["set-cookie"].lower()) == (303, True)
    assert [visitor.get(path).code for path in ("/actions", "/metrics", "/static/page.css")] == [200, 200, 200]


def test_who_speaks_no_tls_gets_nothing(web: WebServer) -> None:
    with closing(socket.create_connection((HOST, web.port), timeout=60)) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not plain.recv(1000).startswith(b"HTTP")


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(web: WebServer, authority: Authority) -> None:
    """Many times, as it depends on what the server's loop reads together."""
    for _ in range(30):
        with (
            closing(socket.create_connection((HOST, web.port), timeout=60)) as raw,
            trusting(authority).wrap_socket(raw, server_hostname=HOST) as safe,
        ):
            safe.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert safe.recv(100).startswith(b"HTTP/1.1 200")


def is_over(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_silent_callers_before_the_handshake_are_counted_too(web: WebServer, authority: Authority) -> None:
    with ExitStack() as held:
        crowd = [
            held.enter_context(closing(socket.create_connection((HOST, web.port), timeout=60)))
            for _ in range(2 * visitors.MOST)
        ]
        assert PageVisitor(web.port, trusting(authority)).get("/live").code == 200
        assert all(is_over(silent) for silent in crowd[: visitors.MOST])


def test_who_never_shakes_hands_is_let_go(
    web: WebServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitors, "LIFE_SECONDS", 0.1)
    with closing(socket.create_connection((HOST, web.port), timeout=60)) as silent:
        assert is_over(silent)
    monkeypatch.undo()
    assert PageVisitor(web.port, trusting(authority)).get("/live").code == 200


def test_a_key_that_others_can_read_or_that_does_not_fit_is_refused(authority: Authority, tmp_path: Path) -> None:
    one, other = authority.sign("one", HOST), authority.sign("other", HOST)
    locked = authority.sign("locked", HOST, password=RIGHT)

    def opened(certificate: Path, key: Path) -> WebServer:
        return WebServer(WebConfig(port=0, tls_certificate=certificate, tls_key=key), FakeSidecar().status)

    for certificate, key in (
        (one.certificate, other.key),
        (one.certificate, one.certificate),
        (locked.certificate, locked.key),
    ):
        key.chmod(0o600)
        with pytest.raises(UsageError, match=r"\[web\] cannot use .* both are PEM files"):
            opened(certificate, key)
    one.key.chmod(0o644)
    with pytest.raises(UsageError, match=r"the TLS key .* can be read by other users"):
        opened(one.certificate, one.key)
    with pytest.raises(UsageError, match=r"the TLS key .* does not exist"):
        opened(one.certificate, tmp_path / "none")


def test_a_password_file_that_cannot_be_read_keeps_the_page_from_starting(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the password file .* does not exist"):
        WebServer(WebConfig(port=0, password_file=tmp_path / "none"), FakeSidecar().status)


def test_a_browser_is_told_to_stay_with_tls(web: WebServer, authority: Authority) -> None:
    seen = PageVisitor(web.port, trusting(authority)).get("/login")
    assert seen.headers["strict-transport-security"] == "max-age=2592000"


def test_a_form_from_the_same_host_without_tls_is_refused(web: WebServer, authority: Authority) -> None:
    visitor = PageVisitor(web.port, trusting(authority))
    assert visitor.post("/theme", {"theme": "dark"}, Origin=f"http://{HOST}:{web.port}").code == 403
    assert visitor.post("/theme", {"theme": "dark"}).code == 303


def test_without_tls_a_browser_is_told_nothing_of_it() -> None:
    sidecar = FakeSidecar()
    server = WebServer(WebConfig(port=0), sidecar.status, sidecar.commands())
    server.start()
    try:
        assert "strict-transport-security" not in PageVisitor(server.port).get("/").headers
    finally:
        server.stop()
