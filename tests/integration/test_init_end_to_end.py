"""From `pysync init` to a table at the target, and back: a real HMS on the hive-site.xml that was edited."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError
from pysync.control.client import ask
from pysync.lab import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.hive_sites import OTHER
from tests.support.installs import ME
from tests.support.sidecars import command, pysync

pytestmark = pytest.mark.smoke

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- An administrator wrote this. -->\r\n'


USER = "nobody" if os.geteuid() == 0 else ME


class Prepared(EmbeddedMetastore):
    """One that runs as USER, and reads the hive-site.xml that is there, once there is one."""

    def _prepare(self) -> None:
        if not (self.directory / "hive-site.xml").exists():
            super()._prepare()

    def _java(self) -> Path:
        made = self.directory / "java"
        made.write_text(f'#!/bin/sh\nexec {shlex.join([*as_user(USER), str(super()._java())])} "$@"\n')
        made.chmod(0o755)
        return made


def as_user(user: str) -> list[str]:
    """What runs a command as that user; it may read what the tests are installed in, which may be root's."""
    if user == ME:
        return []
    reads = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return ["setpriv", f"--reuid={user}", "--regid=65534", "--clear-groups", *reads, "--"]


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory that the user of HMS may pass through, too; pytest's are for its own user."""
    with tempfile.TemporaryDirectory(prefix="pysync-init-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def target(root: Path) -> Iterator[EmbeddedMetastore]:
    with EmbeddedMetastore(root / "target", name="target") as made:
        yield made


@pytest.fixture
def source(root: Path) -> Iterator[Prepared]:
    """An HMS whose hive-site.xml has lines of its own, and a directory for jars."""
    (root / "lib").mkdir()
    port = free_port()
    made = Prepared(root / "source", port=port, jars=[root / "lib" / "pysync-listener.jar"], name="source")
    made._prepare()
    site = made.directory / "hive-site.xml"
    text = site.read_text().partition("\n")[2].replace("\n", "\r\n")
    site.write_bytes((HEAD + text).encode())
    owner = pwd.getpwnam(USER)
    for it in (made.directory, *made.directory.iterdir()):
        os.chown(it, owner.pw_uid, owner.pw_gid)
    yield made
    made.stop()


@contextmanager
def sidecar(config: Path, user: str, log: Path) -> Iterator[Callable[[], dict[str, object]]]:
    """`pysync run` as that user; what is given tells its status."""
    with log.open("w") as errors:
        process = subprocess.Popen([*as_user(user), *command(["run", "-c", config])], stderr=errors)

    def status() -> dict[str, object]:
        assert process.poll() is None, log.read_text()
        with suppress(PysyncError):
            return ask(config.parent.parent / "var", "status")
        return {}

    try:
        wait_until(lambda: "pid" in status(), what="the sidecar")
        yield status
    finally:
        process.terminate()
        process.wait(30)


def test_from_init_to_a_table_at_the_target_and_back(root: Path, source: Prepared, target: EmbeddedMetastore) -> None:
    assert USER == ME or shutil.which("setpriv"), "setpriv is missing: install util-linux"
    config, site = root / "etc" / "pysync.toml", source.directory / "hive-site.xml"
    before = site.read_bytes()
    given = {"user": USER, "config-dir": config.parent, "state-dir": root / "var", "merge-hive-site": site}
    given |= {"source-name": "east", "source-metastore": source.uri, "bridge-port": free_port()}
    given |= {"hive-lib": root / "lib", "target-kind": "hms", "target-metastore": target.uri}
    given |= {"location": f"file:{source.warehouse}=file:{target.warehouse}"}
    done = pysync("init", *(f"--{key}={value}" for key, value in given.items()), "--no-systemd")
    assert done.returncode == 0, done.stderr
    assert site.read_bytes().startswith(HEAD.encode())
    source.start()

    checked = subprocess.run(
        [*as_user(USER), *command(["check", "-c", config, "--json"])], capture_output=True, text=True, check=False
    )
    assert checked.stdout, checked.stderr
    assert [it for it in json.loads(checked.stdout) if not it["ok"]] == [], checked.stderr
    with sidecar(config, USER, root / "sidecar.log") as status:
        with closing(Metastore(source.uri)) as here, closing(Metastore(target.uri)) as there:
            name = new_database(here, "init")
            here.call(lambda client: client.create_table(table(name, "orders")))
            wait_until(lambda: there.table(name, "orders") is not None, what="the table at the target")
            assert there.table(name, "orders").parameters["pysync.source"] == "east"
        wait_until(lambda: status()["listeners"] != [], what="the listener")
        refused = pysync("uninstall", f"--config-dir={config.parent}")
        assert (refused.returncode, "a sidecar runs on the queue" in refused.stderr) == (1, True)
        source.stop()

    assert {it.owner() for it in (root / "var").rglob("*")} == {site.owner()} == {USER}
    back = pysync("uninstall", f"--config-dir={config.parent}", "--purge", "--yes", "--force", "--json")
    assert (back.returncode, json.loads(back.stdout)["left"]) == (0, []), back.stderr
    assert site.read_bytes() == before
    assert sorted(it.name for it in root.iterdir()) == ["lib", "sidecar.log", "source", "target"]
    assert list((root / "lib").iterdir()) == []
    assert OTHER not in before.decode()
