"""What `pysync uninstall` takes back, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from pysync.base.errors import PysyncError, UsageError
from pysync.cli.app import app
from pysync.queue import EventQueue
from pysync.setup import removal_check
from pysync.setup.record import read_record
from tests.support.hive_sites import EMR
from tests.support.installs import NOBODY, Host
from tests.support.queues import fill


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def uninstall(host: Host, *options: str, answer: str = "") -> Result:
    return CliRunner().invoke(app, ["uninstall", f"--config-dir={host.etc}", *options], input=answer)


def done(host: Host, *options: str) -> dict[str, list[dict[str, str]]]:
    found = uninstall(host, *options, "--json")
    assert found.exit_code == 0, found.output
    return dict(json.loads(found.output))


def test_hms_and_systemd_are_as_before(host: Host) -> None:
    before = host.tree()
    host.init()
    found = done(host)
    assert {it["path"] for it in found["removed"]} == {
        str(host.site),
        str(host.units / "pysync.service"),
        str(host.lib / "pysync-listener.jar"),
    }
    after = host.tree()
    assert {name: it for name, it in after.items() if name in before} == before
    assert {name.split("/")[0] for name in after.keys() - before.keys()} == {"etc", "var", "conf"}


def test_what_is_left_is_named_with_commands_that_remove_it(host: Host) -> None:
    before = host.tree()
    host.init()
    left = done(host)["left"]
    assert all(it["why"] for it in left)
    for it in left:
        subprocess.run(shlex.split(it["command"]), check=True)
    host.etc.rmdir()
    assert host.tree() == before


def test_twice_is_once(host: Host) -> None:
    host.init()
    done(host)
    before = host.tree()
    assert done(host)["removed"] == []
    assert "nothing to do: everything is removed already" in uninstall(host).output
    assert host.tree() == before


def test_a_dry_run_removes_nothing(host: Host) -> None:
    host.init()
    before = host.tree()
    for options in ([], ["--purge"]):
        found = uninstall(host, "--dry-run", *options)
        assert (found.exit_code, "nothing is removed" in found.output) == (0, True)
    assert host.tree() == before


def test_what_somebody_added_to_hive_site_since_stays(host: Host) -> None:
    host.init()
    text = host.site.read_text().replace("SidecarListener</value>", "SidecarListener,x.Y</value>")
    text = text.replace("</configuration>", "<!-- mine --></configuration>")
    host.site.write_text(text)
    done(host)
    expected = EMR.replace("DbNotificationListener</value>", "DbNotificationListener,x.Y</value>")
    assert host.site.read_text() == expected.replace("</configuration>", "<!-- mine --></configuration>")


@pytest.mark.parametrize("name", ["units/pysync.service", "lib/pysync-listener.jar"])
def test_a_file_that_was_changed_since_is_left(host: Host, name: str) -> None:
    host.init()
    (host.root / name).write_bytes(b"mine")
    (left,) = (it for it in done(host)["left"] if it["path"] == str(host.root / name))
    assert (left["why"], (host.root / name).read_bytes()) == ("it was changed after pysync init wrote it", b"mine")


def test_the_link_by_which_systemd_starts_the_unit_goes_too(host: Host) -> None:
    host.init()
    link = host.units / "multi-user.target.wants" / "pysync.service"
    link.parent.mkdir()
    link.symlink_to(host.units / "pysync.service")
    found = done(host)
    assert str(link) in {it["path"] for it in found["removed"]}
    assert (link.is_symlink(), found["next"]) == (
        False,
        ["systemctl daemon-reload", "systemctl restart hive-metastore    # or as HMS is restarted on this host"],
    )


@pytest.mark.parametrize("gone", [lambda it: it.site.unlink(), lambda it: (it.lib / "pysync-listener.jar").unlink()])
def test_what_is_gone_already_is_no_trouble(host: Host, gone: Callable[[Host], None]) -> None:
    host.init()
    gone(host)
    assert len(done(host)["removed"]) == 2


def test_a_purge_leaves_nothing(host: Host) -> None:
    before = host.tree()
    host.init()
    (host.var / "queue.db-old").write_text("")
    found = done(host, "--purge", "--yes")
    assert (found["left"], host.tree()) == ([], before)


def test_a_purge_asks_and_takes_no_for_an_answer(host: Host) -> None:
    host.init()
    before = host.tree()
    found = uninstall(host, "--purge", answer="n\n")
    assert (found.exit_code, host.tree()) == (1, before)
    assert all(it in found.output for it in ("Remove all this for good?", str(host.var), str(host.etc / "token")))
    assert uninstall(host, "--purge", answer="y\n").exit_code == 0
    assert not host.var.exists()


def test_a_purge_leaves_directories_that_were_there_before(host: Host) -> None:
    """Somebody may have named a directory with other things in it."""
    host.var.mkdir(mode=0o700)
    host.etc.mkdir(mode=0o755)
    (host.var / "thesis").write_text("")
    host.init()
    (left,) = done(host, "--purge", "--yes")["left"]
    assert left["path"] == str(host.var)
    assert left["why"].endswith("the directory existed before pysync init")
    assert ((host.var / "thesis").exists(), list(host.etc.iterdir())) == (True, [])


def test_a_purge_leaves_what_somebody_put_beside_pysync_toml(host: Host) -> None:
    host.init()
    (host.etc / "pysync.keytab").write_text("")
    done(host, "--purge", "--yes")
    assert [it.name for it in host.etc.iterdir()] == ["pysync.keytab"]


def test_a_link_in_the_queue_directory_leads_nowhere(host: Host) -> None:
    host.init()
    (host.root / "precious").mkdir()
    (host.root / "precious" / "x").write_text("")
    (host.var / "more").symlink_to(host.root / "precious")
    done(host, "--purge", "--yes")
    assert (host.root / "precious" / "x").exists()


def waiting(host: Host, *, parked: bool = False) -> None:
    with EventQueue(host.var, min_free_bytes=0) as queue:
        queue.target("dr").register()
        fill(queue, 1, 0 if parked else 3)


def test_a_purge_refuses_while_a_target_is_behind(host: Host) -> None:
    host.init()
    waiting(host)
    before = host.tree()
    found = uninstall(host, "--purge", "--yes")
    assert str(found.exception) == (
        "target dr: 3 events waiting, 0 parked: these changes would be lost; start the sidecar until they are applied, "
        "or give --force"
    )
    assert {name: it for name, it in host.tree().items() if "queue" not in name} == {
        name: it for name, it in before.items() if "queue" not in name
    }
    assert done(host)["removed"]  # without --purge nothing is lost
    assert done(host, "--purge", "--yes", "--force")["left"] == []


def test_a_queue_that_all_have_taken_does_not_hold_a_purge(host: Host) -> None:
    host.init()
    waiting(host, parked=True)
    assert done(host, "--purge", "--yes")["left"] == []


@pytest.mark.parametrize("options", [[], ["--purge", "--yes", "--force"]])
def test_nothing_is_removed_below_a_running_sidecar(
    host: Host, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    host.init()
    before = host.tree()
    monkeypatch.setattr(removal_check, "ask_if_running", lambda *_: {"pid": 4711})
    found = uninstall(host, *options)
    assert isinstance(found.exception, PysyncError)
    assert "pid 4711; stop it: systemctl disable --now pysync" in str(found.exception)
    assert host.tree() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make files of other users: run it as root")
@pytest.mark.parametrize("which", ["etc", "etc/installed.json"])
def test_a_record_that_another_user_may_write_is_not_believed(host: Host, which: str) -> None:
    """It would tell root what to remove."""
    host.init()
    os.chown(host.root / which, NOBODY, NOBODY)
    before = host.tree()
    found = uninstall(host, "--purge", "--yes")
    assert isinstance(found.exception, UsageError)
    assert host.tree() == before


def test_without_a_record_nothing_is_removed(host: Host) -> None:
    found = uninstall(host)
    assert str(found.exception) == (
        f"there is no record of pysync init: {host.etc}/installed.json; name the directory that pysync init used: "
        "--config-dir DIR"
    )


def test_one_that_was_stopped_half_way_is_finished_by_the_next(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    before = host.tree()
    host.init()

    def fail(*_args: object, **_options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("shutil.rmtree", fail)
    found = uninstall(host, "--purge", "--yes")
    assert str(found.exception) == f"cannot remove {host.var}: Read-only file system; run the command again"
    monkeypatch.undo()
    assert read_record(host.etc) is not None
    done(host, "--purge", "--yes")
    assert host.tree() == before


def test_a_broken_hive_site_is_refused_before_anything_is_removed(host: Host) -> None:
    host.init()
    host.site.write_text("<configuration>")
    before = host.tree()
    found = uninstall(host)
    assert str(found.exception) == f"{host.site}:1:16: no element found; repair the XML; nothing was changed"
    assert host.tree() == before


def test_what_init_did_not_make_is_not_removed(host: Host) -> None:
    host.init(replace(host.places, hive_lib=None, hive_site=None))
    (host.lib / "pysync-listener.jar").write_bytes(b"by hand")
    assert [it["what"] for it in done(host)["removed"]] == ["systemd unit"]
    assert (host.lib / "pysync-listener.jar").exists()
