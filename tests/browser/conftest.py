"""One Chromium for all tests; after each test it must have nothing to complain about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pysync.sections import WebConfig
from pysync.web.passwords import set_password
from pysync.web.server import WebServer
from tests.support.browser import DESK, Browser, chromium
from tests.support.pages import FakeSidecar

USER, RIGHT = "alice", "correct horse battery"


class Served:
    """A page on the answers of a sidecar that is none."""

    def __init__(self, sidecar: FakeSidecar, users: Path) -> None:
        self.sidecar = sidecar
        self.web = WebServer(WebConfig(port=0, password_file=users), sidecar.status, sidecar.commands())
        self.web.start()
        self.base = self.web.url.rstrip("/")


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "passwords"
    set_password(path, USER, RIGHT)
    return path


@pytest.fixture(scope="session")
def opened() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def browser(opened: Browser) -> Iterator[Browser]:
    """Without cookies and at a desk; violations of the policy and errors of scripts fail the test."""
    opened.forget()
    opened.prefer("light")
    opened.size(DESK)
    opened.zone("UTC")
    opened.faults()
    yield opened
    assert opened.faults() == []


@pytest.fixture
def serve(users: Path, browser: Browser) -> Iterator[Callable[[FakeSidecar], Served]]:
    """Call it for a page on a fake sidecar."""
    with ExitStack() as held:

        def served(sidecar: FakeSidecar) -> Served:
            found = Served(sidecar, users)
            held.callback(found.web.stop)
            return found

        yield served
        # A page that is still open would ask for its next update in vain.
        browser.go("about:blank")
