"""A proxy that signs users in: believed on its Unix socket alone; who is no operator looks and does not act."""

from __future__ import annotations

import http.client
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.sections import WebConfig
from pysync.web.server import WebServer
from pysync.web.sessions import MOST_SESSIONS, ProxySessions
from tests.support.certificates import Authority
from tests.support.pages import FakeSidecar, in_trouble
from tests.support.visitors import OnSocket, PageVisitor, write_passwords

RIGHT = "correct horse battery"
HEADER = "X-Forwarded-User"


class Stand:
    """A page with a proxy's socket, where alice is an operator."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.sidecar = FakeSidecar(in_trouble())
        self.path = directory / "page.sock"
        passwords = directory / "passwords"
        write_passwords(passwords, RIGHT, "alice", "carol")
        proxy = {"proxy_socket": self.path, "proxy_user": pwd.getpwuid(os.geteuid()).pw_name}
        values = {"port": 0, "operators": ("alice",), "password_file": passwords, **proxy, **settings}
        self.web = WebServer(WebConfig(**values), self.sidecar.status, self.sidecar.commands())
        self.web.start()

    def by_proxy(self, user: str, **headers: str) -> PageVisitor:
        return PageVisitor(self.web.port, unix=self.path, **{HEADER: user, **headers})

    def done(self) -> list[str]:
        return [name for name, _ in self.sidecar.asked if name == "pause"]


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    made.web.stop()


def test_the_proxy_names_the_user_who_acts(stand: Stand) -> None:
    alice = stand.by_proxy("alice")
    assert "alice" in alice.get("/actions").text
    assert "Sign out" not in alice.get("/actions").text
    assert "dr is paused: night" in alice.act("pause", target="dr", reason="night").text
    assert ("pause", {"target": "dr", "reason": "night", "who": "alice (page)"}) in stand.sidecar.asked


def test_the_header_is_believed_on_the_socket_alone(stand: Stand) -> None:
    for headers in ({HEADER: "alice"}, {HEADER: "alice", "X-Forwarded-For": "127.0.0.1"}):
        assert PageVisitor(stand.web.port, **headers).get("/actions").code == 403
    assert PageVisitor(stand.web.port, **{HEADER: "alice"}).post("/acts/pause", {"target": "dr"}).code == 403
    assert stand.done() == []


@pytest.mark.parametrize("user", ["", "a b", "alice,bob", "<b>", "x" * 65, "\xe4"])
def test_a_name_that_is_none_signs_nobody_in(stand: Stand, user: str) -> None:
    assert stand.by_proxy(user).get("/actions").code == 403


def test_two_names_sign_nobody_in(stand: Stand) -> None:
    """A proxy that adds its header to that of a browser, in place of it."""
    connection: http.client.HTTPConnection = OnSocket(stand.path)
    connection.putrequest("GET", "/actions")
    for user in ("alice", "mallory"):
        connection.putheader(HEADER, user)
    connection.endheaders()
    assert connection.getresponse().status == 403
    connection.close()


@pytest.mark.parametrize("way", ["proxy", "password"])
def test_who_is_no_operator_sees_names_and_cannot_act(stand: Stand, way: str) -> None:
    if way == "proxy":
        viewer, operator = stand.by_proxy("carol"), stand.by_proxy("alice")
    else:
        viewer, operator = PageVisitor(stand.web.port), PageVisitor(stand.web.port)
        assert (viewer.sign_in("carol", RIGHT).code, operator.sign_in("alice", RIGHT).code) == (303, 303)
    for path in ("/", "/targets/dr", "/targets/lake/parked", "/verify", "/tables/shop.orders"):
        seen = viewer.get(path)
        assert ("/acts/" in seen.body, "Adopt" in seen.text, "viewer" in seen.text) == (False, False, True), path
    assert "shop.orders" in viewer.get("/actions").text
    csrf = operator.get("/verify").field("csrf")
    assert viewer.post("/acts/pause", {"target": "dr", "csrf": csrf, "back": "/"}).code == 403
    assert stand.done() == []
    assert "dr is paused" in operator.act("pause", target="dr").text


def test_the_token_of_one_user_is_none_of_another(tmp_path: Path) -> None:
    stand = Stand(tmp_path, operators=None)
    csrf = stand.by_proxy("alice").get("/verify").field("csrf")
    assert stand.by_proxy("bob").post("/acts/pause", {"target": "dr", "csrf": csrf, "back": "/"}).code == 403
    assert stand.by_proxy("alice").post("/acts/pause", {"target": "dr", "csrf": csrf}, Origin="http://evil").code == 403
    assert "dr is paused" in stand.by_proxy("bob").act("pause", target="dr").text
    stand.web.stop()


def test_whoever_is_not_the_proxy_cannot_name_a_user(tmp_path: Path) -> None:
    others = next(it.pw_name for it in pwd.getpwall() if it.pw_uid != os.geteuid())
    stand = Stand(tmp_path, proxy_user=others)
    alice = stand.by_proxy("alice")
    for seen in (alice.get("/actions"), alice.get("/live"), alice.post("/acts/pause", {"target": "dr"})):
        assert (seen.code, "proxy_user" in seen.text) == (403, True)
    assert PageVisitor(stand.web.port).get("/live").code == 200
    stand.web.stop()


def test_a_user_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no user 'nobody-of-here'"):
        Stand(tmp_path, proxy_user="nobody-of-here")


def test_a_directory_in_which_others_may_replace_the_socket_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o770)
    with pytest.raises(UsageError, match="other users can replace the proxy's socket"):
        Stand(tmp_path)


@pytest.mark.parametrize("alone", [{"proxy_socket": "/run/x/page.sock"}, {"proxy_user": "www-data"}])
def test_socket_and_user_belong_together(alone: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="proxy_socket and proxy_user belong together"):
        WebConfig.model_validate(alone)


def test_the_socket_can_be_opened_by_the_proxy_and_goes_with_the_page(tmp_path: Path) -> None:
    first = Stand(tmp_path)
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o666  # the proxy is in no group of the sidecar
    second = Stand(tmp_path)  # as after a kill, which leaves the file
    assert second.by_proxy("alice").get("/actions").code == 200
    second.web.stop()
    first.web.stop()
    assert not second.path.exists()
    second.path.write_text("x")
    with pytest.raises(PysyncError, match=r"cannot listen on .* for the proxy"):
        Stand(tmp_path)
    assert second.path.read_text() == "x"


def test_a_page_that_stops_late_leaves_the_socket_of_its_successor(tmp_path: Path) -> None:
    old, new = Stand(tmp_path), Stand(tmp_path)
    old.web.stop()
    assert new.by_proxy("alice").get("/actions").code == 200
    new.web.stop()
    assert not new.path.exists()


def test_the_proxy_speaks_no_tls_where_the_port_does(tmp_path: Path) -> None:
    signed = Authority(tmp_path).sign("page", "127.0.0.1")
    stand = Stand(tmp_path, tls_certificate=signed.certificate, tls_key=signed.key)
    assert stand.by_proxy("alice").get("/actions").code == 200
    stand.web.stop()


def test_users_of_a_proxy_are_bounded() -> None:
    sessions = ProxySessions()
    first = sessions.of(["u0"])
    for number in range(MOST_SESSIONS + 1):
        sessions.of([f"u{number}"])
    assert sessions.of(["u0"]) is not first
