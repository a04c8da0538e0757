"""Root makes and removes nothing that the user of HMS names by a file, a link or a swapped directory of his own."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pysync.base.errors import PysyncError, UsageError
from pysync.base.rights import make_directory, remove, rights_at
from pysync.cli.app import app
from pysync.cli.output import write_private
from pysync.config_file.file import drafted
from pysync.setup import removal
from pysync.setup.monitoring import RULES
from pysync.setup.record import read_record
from tests.support.installs import NOBODY, Host

OTHER = 4711
OWNER = (NOBODY, NOBODY)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have more rights than the user of HMS")


@pytest.fixture
def host() -> Iterator[Host]:
    """One whose directories other users reach, too; those of pytest are for its own user."""
    with tempfile.TemporaryDirectory(prefix="pysync-rights-") as made:
        Path(made).chmod(0o755)
        yield Host(Path(made))


def give(*paths: Path, to: int = NOBODY) -> None:
    for path in paths:
        os.chown(path, to, to, follow_symlinks=False)


def spool(host: Host, directory: Path) -> None:
    """hive-site.xml, which is nobody's, names this directory."""
    named = f"<property><name>pysync.spool.dir</name><value>{directory}</value></property></configuration>"
    host.site.write_text(host.site.read_text().replace("</configuration>", named))
    give(host.site)


def tried(host: Host) -> str:
    """What `pysync init` refuses for the user nobody."""
    with suppress(UsageError):
        return "\n".join(host.plan(user="nobody").problems)
    with pytest.raises(UsageError) as refused:
        host.plan(user="nobody")
    return str(refused.value)


def test_a_report_takes_over_no_file_of_another_user(host: Host) -> None:
    report, theirs = host.units.parent / "report", host.units.parent / "theirs"
    for path in (report, theirs):
        path.write_text("theirs")
    give(report, theirs)
    with pytest.raises(UsageError, match="belongs to another user"):
        write_private(report, b"ours", "--html")
    report.unlink()
    report.symlink_to(theirs)
    write_private(report, b"ours", "--html")
    assert (report.is_symlink(), report.read_bytes(), theirs.read_text()) == (False, b"ours", "theirs")
    assert theirs.stat().st_uid == NOBODY


def test_root_writes_no_report_where_others_could_put_a_link(host: Host) -> None:
    theirs = host.units.parent / "theirs"
    theirs.mkdir()
    give(theirs)
    with pytest.raises(UsageError, match="root does not use"):
        write_private(theirs / "report", b"ours", "--html")


def test_alerts_are_written_through_no_link(host: Host) -> None:
    alerts, theirs = host.units.parent / "alerts", host.units.parent / "theirs"
    alerts.mkdir()
    theirs.write_text("theirs")
    (alerts / RULES).symlink_to(theirs)
    done = CliRunner().invoke(app, ["monitoring", "--force", "--out", str(alerts)])
    assert (done.exit_code, theirs.read_text()) == (0, "theirs")


def test_a_spool_that_the_users_hive_site_names_is_made_with_the_users_rights(host: Host) -> None:
    unit = host.units / "ssh.service.d"
    spool(host, unit)
    assert tried(host) == (
        f"cannot create {unit}: {host.units} is not writable for nobody, who can write {host.site}; name another place"
    )
    give(host.units)  # as soon as the user could make it, root may
    host.init(replace(host.places, units=None), user="nobody")
    assert unit.stat().st_uid == NOBODY


def test_root_may_name_the_spool_there(host: Host) -> None:
    spool(host, host.units / "ssh.service.d")
    host.init(replace(host.places, spool=host.root / "spool"), user="nobody")
    assert (host.root / "spool").stat().st_uid == NOBODY
    assert list(host.units.iterdir()) == [host.units / "pysync.service"]


@pytest.mark.parametrize("key", ["token_file", "directory"])
def test_so_is_what_the_users_pysync_toml_names(host: Host, key: str) -> None:
    host.etc.mkdir()
    file = host.etc / "pysync.toml"
    old = host.etc / "token" if key == "token_file" else host.var
    file.write_text(host.text().replace(f'"{old}"', f'"{host.units}/evil.service"'))
    give(file)
    assert f"cannot create {host.units}/evil.service: {host.units} is not writable for nobody" in tried(host)
    give(file, to=0)
    assert tried(host) == ""


@pytest.mark.parametrize("below", ["link", "link/deeper"])
def test_a_state_directory_below_the_users_link_is_made_with_the_users_rights(host: Host, below: str) -> None:
    home = host.root / "home"
    home.mkdir()
    (home / "link").symlink_to(host.units)
    (host.units / "deeper").mkdir()
    give(home, home / "link")
    with pytest.raises(PermissionError):
        make_directory(home / below / "state", 0o700, OWNER)
    assert [it.name for it in host.units.rglob("*")] == ["deeper"]
    give(host.units)
    make_directory(home / "link" / "a" / "state", 0o700, OWNER)
    assert (host.units / "a").stat().st_uid == (host.units / "a" / "state").stat().st_uid == NOBODY


def test_links_of_root_are_followed(host: Host) -> None:
    (host.root / "a").symlink_to("b/../b")
    (host.root / "b").symlink_to(host.units)
    make_directory(host.root / "a" / "x" / "state", 0o700, OWNER)
    owners = [(host.units / it).stat().st_uid for it in ("x", "x/state")]
    assert owners == [0, NOBODY]


def test_a_loop_of_links_ends(host: Host) -> None:
    (host.root / "a").symlink_to("b")
    (host.root / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"):
        make_directory(host.root / "a" / "state", 0o700)


@pytest.mark.parametrize("change", [lambda path: give(path, to=OTHER), lambda path: path.chmod(0o775)])
@pytest.mark.parametrize("what", ["conf/hive-site.xml", "conf", "etc/pysync.toml", "etc"])
def test_root_refuses_configuration_that_others_can_write(host: Host, what: str, change: object) -> None:
    host.etc.mkdir(mode=0o755)
    (host.etc / "pysync.toml").write_text(host.text())
    changed = host.root / what
    assert callable(change)
    change(changed)
    assert f"root does not use {changed}: other users can write to it; chmod go-w {changed}" in tried(host)


@pytest.mark.parametrize("command", ["merge", "unmerge"])
def test_hive_site_is_not_edited_through_the_users_link(host: Host, command: str) -> None:
    home = host.root / "home"
    home.mkdir()
    (home / "hive-site.xml").symlink_to(host.site)
    give(home, home / "hive-site.xml")
    (host.root / "pysync.toml").write_text(host.text())
    before = host.site.read_bytes()
    arguments = ["hive-site", "-c", str(host.root / "pysync.toml"), f"--{command}", str(home / "hive-site.xml")]
    found = CliRunner().invoke(app, arguments)
    assert "root does not use" in str(found.exception)
    assert host.site.read_bytes() == before


def test_pysync_toml_is_not_edited_through_the_users_link(host: Host) -> None:
    home, config = host.root / "home", host.root / "pysync.toml"
    home.mkdir()
    config.write_text(host.text())
    (home / "pysync.toml").symlink_to(config)
    give(home, home / "pysync.toml")
    with pytest.raises(UsageError, match="root does not use"):
        drafted(home / "pysync.toml", lambda text: text + "# mine\n").put()
    assert config.read_text() == host.text()


def test_the_users_hive_site_is_replaced_in_the_users_directory(host: Host) -> None:
    give(host.site, host.site.parent)
    host.init(user="nobody")
    assert "pysync.spool.dir" in host.site.read_text()
    assert {it.stat().st_uid for it in host.site.parent.iterdir()} == {NOBODY}


def purged(host: Host) -> removal.Uninstall:
    record = read_record(host.etc)
    assert record is not None
    return removal.uninstall(record, purge=True)


def test_a_purge_removes_nothing_through_a_swapped_parent(host: Host) -> None:
    home = host.root / "home"
    home.mkdir()
    give(home)
    host.init(replace(host.places, spool=home / "a" / "spool"), user="nobody")
    precious = host.root / "precious" / "spool"
    precious.mkdir(parents=True)
    planned = purged(host)
    (home / "a").rename(home / "b")
    (home / "a").symlink_to(precious.parent)
    give(home / "a")
    (it,) = (it for it in planned.removals if it.path == home / "a" / "spool")
    with pytest.raises(PysyncError, match=r"a/spool was replaced by somebody else"):
        it.apply()
    assert precious.is_dir()
    # Nor if the link was there before the question.
    (it,) = (it for it in purged(host).removals if it.path == home / "a" / "spool")
    assert list(it.problems()) == []
    with pytest.raises(PermissionError):
        it.apply()
    assert precious.is_dir()


def test_a_purge_leaves_a_directory_of_somebody_else(host: Host) -> None:
    host.init(user="nobody")
    give(host.var, to=OTHER)
    found = CliRunner().invoke(app, ["uninstall", f"--config-dir={host.etc}", "--purge", "--yes", "--json"])
    assert str(found.exception) == f"{host.var} belongs to another user; look at it, and remove it by hand"
    assert host.var.is_dir()


def test_a_purge_removes_all_that_init_made(host: Host) -> None:
    before = host.tree()
    host.init(user="nobody")
    arguments = ["uninstall", f"--config-dir={host.etc}", "--purge", "--yes", "--json"]
    found = CliRunner().invoke(app, arguments)
    assert (found.exit_code, json.loads(found.output)["left"]) == (0, []), found.output
    assert host.tree() == before


def test_what_is_gone_is_no_error(host: Host) -> None:
    found = host.lib.lstat()
    host.lib.rename(host.root / "gone")
    remove(host.lib, found, None)
    remove(host.lib / "deeper", found, None)


def test_the_rights_of_root_come_back(host: Host) -> None:
    give(host.lib)
    before = (os.geteuid(), os.getegid(), sorted(os.getgroups()))
    with suppress(FileNotFoundError), rights_at(host.lib / "x", OWNER):
        assert (os.geteuid(), os.getegid()) == OWNER
        (host.lib / "x").unlink()
    assert (os.geteuid(), os.getegid(), sorted(os.getgroups())) == before
