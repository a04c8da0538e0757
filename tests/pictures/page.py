"""The picture of the page in README: a real sidecar between real metastores, in a real Chromium."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.web.passwords import set_password
from tests.pictures import PAGE
from tests.support import partition
from tests.support.browser import Browser, chromium
from tests.support.docworlds import Running, create

_USER, _PASSWORD = "alice", "the password of a picture"
_SIZE = 1280, 900


def draw() -> None:
    """Write the picture. Needs Chromium (make test SUITE=browser installs it)."""
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        users = Path(name) / "users"
        set_password(users, _USER, _PASSWORD)
        (directory := Path(name) / "stage").mkdir()
        running = Running(directory)
        web = f'\n[web]\nport = 0\npassword_file = "{users}"\n'
        running.file.write_text(running.file.read_text() + web)
        with running, running.parked():
            _work(running)
            _shoot(browser, running)


def _work(running: Running) -> None:
    """A little of what a source does."""
    for number in range(40):
        create(running.source, "sales", f"invoices_{number:02}", partition_keys=[("day", "string")])
        made = running.source.table("sales", f"invoices_{number:02}")
        running.source.call(lambda client, it=made: client.add_partitions([partition(it, [day]) for day in "123"]))
    running.source.call(lambda client: client.create_database(hive.Database(name="finance")))
    running.rests(queued=0, parked=1)


def _shoot(browser: Browser, running: Running) -> None:
    base = re.findall(r"web_started\s+url=(\S+)/", running.stage.sidecar_log.read_text())[-1]
    browser.size(*_SIZE)
    browser.prefer("light")
    browser.go(f"{base}/login?next=/")
    browser.find("[name=user]").send_keys(_USER)
    browser.find("[name=password]").send_keys(_PASSWORD)
    browser.click("main button.primary")
    browser.driver.save_screenshot(str(PAGE))
