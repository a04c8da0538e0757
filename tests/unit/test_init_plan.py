"""What `pysync init` plans and makes: all of it or, with every problem told, nothing; twice is once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pysync.base.errors import UsageError
from pysync.base.jars import listener_jar
from pysync.base.token import read_token
from pysync.cli.app import app
from pysync.config import load_config
from pysync.setup import steps
from pysync.setup.listener import LISTENER
from pysync.setup.plan import InstallPlan, plan
from pysync.setup.record import read_record
from tests.support.hive_sites import CDP
from tests.support.installs import ME, NOBODY, Host, states

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may make files of other users: run it as root")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def problems(found: InstallPlan) -> list[str]:
    """As they are printed; nothing was made."""
    return list(found.problems)


def test_everything_that_a_sidecar_needs_is_made(host: Host) -> None:
    host.init()
    config = load_config(host.etc / "pysync.toml")
    assert (config.source.name, config.queue.directory, config.bridge.token_file) == (
        "east",
        host.var,
        host.etc / "token",
    )
    assert len(read_token(config.bridge.token_file)) == 64
    assert (host.lib / "pysync-listener.jar").read_bytes() == listener_jar().read_bytes()
    unit = (host.units / "pysync.service").read_text().splitlines()
    assert {f"User={ME}", f"ExecStart=/bin/true run -c {host.etc}/pysync.toml", f"ReadWritePaths={host.var}"} <= set(
        unit
    )
    assert f"<value>{host.var}/spool</value>" in host.site.read_text()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_modes_are_what_they_shall_be_whatever_the_umask_is(host: Host, umask: int) -> None:
    before = os.umask(umask)
    try:
        host.init()
    finally:
        os.umask(before)
    found = {name: mode for name, (_, mode, _, _) in host.tree().items()}
    assert {name: oct(found[name]) for name in ("etc", "etc/token", "etc/pysync.toml", "etc/installed.json")} == {
        "etc": "0o755",
        "etc/token": "0o600",
        "etc/pysync.toml": "0o644",
        "etc/installed.json": "0o644",
    }
    assert (oct(found["var"]), oct(found["var/spool"]), oct(found["units/pysync.service"])) == (
        "0o700",
        "0o700",
        "0o644",
    )
    assert oct(found["conf/hive-site.xml"]) == "0o640"


@as_root
def test_the_user_of_hms_owns_what_it_writes_and_the_token(host: Host) -> None:
    host.init(user="nobody")
    owners = {name: owner for name, (_, _, owner, _) in host.tree().items() if name.startswith(("etc", "var"))}
    assert {name for name, owner in owners.items() if owner == NOBODY} == {"etc/token", "var", "var/spool"}
    assert {owner for owner in owners.values() if owner != NOBODY} == {0}


def test_a_second_run_changes_nothing(host: Host) -> None:
    host.init()
    before = host.tree()
    again = host.init()
    assert set(states(again).values()) == {"unchanged"}
    assert (host.tree(), again.notes) == (before, ())


def test_what_is_missing_again_is_made_again_and_no_more(host: Host) -> None:
    host.init()
    (host.units / "pysync.service").unlink()
    (host.var / "spool").rmdir()
    planned = states(host.plan())
    assert {name for name, state in planned.items() if state != "unchanged"} == {"pysync.service", "spool"}
    assert set(states(host.init()).values()) == {"unchanged"}


@pytest.mark.parametrize(("name", "where"), [("pysync.toml", "etc"), ("pysync.service", "units")])
def test_a_file_that_differs_is_kept_and_that_is_said(host: Host, name: str, where: str) -> None:
    host.init()
    file = host.root / where / name
    file.write_text(file.read_text() + "# mine\n")
    again = host.init()
    assert (states(again)[name], file.read_text()[-7:]) == ("kept", "# mine\n")
    assert again.notes == (f"{file} exists and differs from what pysync init would write: it is kept",)


def test_a_pysync_toml_that_is_there_decides(host: Host) -> None:
    host.etc.mkdir(mode=0o755)
    (host.etc / "pysync.toml").write_text(host.text("mine").replace(str(host.var), str(host.root / "queue")))
    found = host.init(text=host.text("other"))
    assert (found.properties["pysync.source.name"], (host.root / "queue" / "spool").is_dir()) == ("mine", True)
    assert not host.var.exists()


def test_a_newer_jar_takes_the_place_of_the_older(host: Host) -> None:
    host.init()
    (host.lib / "pysync-listener.jar").write_bytes(b"old")
    assert states(host.plan())["pysync-listener.jar"] == "change"
    host.init()
    assert (host.lib / "pysync-listener.jar").read_bytes() == listener_jar().read_bytes()


def test_a_token_is_kept(host: Host) -> None:
    host.etc.mkdir(mode=0o755)
    token = host.etc / "token"
    token.write_text("x" * 40)
    token.chmod(0o600)
    host.init()
    assert token.read_text() == "x" * 40


def test_a_spool_that_hms_uses_stays_unless_another_is_named(host: Host) -> None:
    """Events may wait there."""
    spool = host.root / "former"
    site = host.site.read_text().replace(
        "</configuration>",
        f"<property><name>pysync.spool.dir</name><value>{spool}</value></property></configuration>",
    )
    host.site.write_text(site)
    assert host.init().properties["pysync.spool.dir"] == str(spool)
    assert (spool.is_dir(), (host.var / "spool").exists()) == (True, False)
    other = host.root / "other"
    found = host.init(replace(host.places, spool=other))
    assert (found.properties["pysync.spool.dir"], other.is_dir()) == (str(other), True)
    assert f"<value>{other}</value>" in host.site.read_text()


def test_where_the_log_is_polled_hms_is_left_as_it_is(host: Host) -> None:
    text = host.text().replace("\n[bridge]", '\ncapture = "notification-log"\n[bridge]', 1)
    before = host.site.read_text()
    found = host.init(text=text)
    assert (found.properties, host.site.read_text()) == ({}, before)
    assert found.notes == ("pysync.toml polls the notification log: HMS needs no listener, and is not changed",)


def test_a_file_of_a_cluster_manager_is_merged_with_a_warning(host: Host) -> None:
    host.site.write_text(CDP)
    (note,) = host.init().notes
    assert note.startswith(f"{host.site} is written by a cluster manager: set the properties there, too")


@pytest.mark.parametrize("name", ["hivemetastore-site.xml", "metastore-site.xml"])
def test_a_list_that_hms_reads_later_is_told_of(host: Host, name: str) -> None:
    later = host.site.with_name(name)
    later.write_text(
        "<configuration><property><name>metastore.event.listeners</name><value>a.B</value></property></configuration>"
    )
    (note,) = host.plan().notes
    assert note == (
        f"{later} sets metastore.event.listeners, and HMS reads it after hive-site.xml: add the listener there, too"
    )
    later.write_text(later.read_text().replace("a.B", f"a.B,{LISTENER}"))
    assert host.plan().notes == ()
    later.write_text("<configuration")
    assert host.plan().notes == ()


def test_line_ends_of_pysync_toml_are_no_difference(host: Host) -> None:
    host.init()
    file = host.etc / "pysync.toml"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    found = CliRunner().invoke(app, ["init", *host.options(), "--no-systemd", "--json"])
    assert (found.exit_code, json.loads(found.stdout)["notes"]) == (0, [])


def test_the_record_knows_what_was_made_and_not_what_was_there(host: Host) -> None:
    host.var.mkdir()
    host.init()
    record = read_record(host.etc)
    assert record is not None
    assert record.directories == (host.etc, host.var / "spool")
    assert set(record.files) == {host.units / "pysync.service", host.lib / "pysync-listener.jar"}
    assert (record.hive_sites, record.user) == ((host.site,), ME)
    assert "x" * 20 not in json.dumps(record.model_dump(mode="json"))


def test_the_record_adds_up(host: Host) -> None:
    host.init(replace(host.places, hive_site=None, hive_lib=None))
    host.init(replace(host.places, units=None))
    record = read_record(host.etc)
    assert record is not None
    assert (len(record.files), len(record.hive_sites), len(record.directories)) == (2, 1, 3)


def test_all_problems_are_told_at_once_and_nothing_is_made(host: Host) -> None:
    host.etc.mkdir()
    host.etc.chmod(0o777)
    host.var.write_text("")
    (host.units / "pysync.service").mkdir()
    before = host.tree()
    found = problems(plan(host.places, ME, host.text(), Path("/bin/false")))
    assert len(found) == (6 if os.geteuid() == 0 else 5)  # root does not use a directory that all can write
    for words in (
        f"cannot create {host.var}/spool: {host.var} is not a directory",
        f"{host.units}/pysync.service is a directory",
        f"other users can replace the token file {host.etc}/token",
        f"the user {ME} cannot run /bin/false; install pysync where",
    ):
        assert any(words in it for it in found), found
    assert host.tree() == before


@as_root
@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to(path.parent / "units")])
def test_a_directory_of_another_user_is_not_given_away(host: Host, make: Callable[[Path], None]) -> None:
    make(host.var)
    assert problems(host.plan(user="nobody"))[0] == (
        f"{host.var} belongs to root, not to nobody; chown nobody {host.var}, or name another directory"
    )


@as_root
def test_a_token_that_its_user_cannot_read_is_a_problem(host: Host) -> None:
    host.etc.mkdir()
    (host.etc / "token").write_text("x" * 40)
    (host.etc / "token").chmod(0o644)
    token = host.etc / "token"
    assert problems(host.plan(user="nobody")) == [
        f"the token file {token} belongs to root; chown nobody {token}",
        f"the token file {token} can be read by other users; chmod 600 {token}",
    ]


def test_who_may_not_write_units_is_told_what_to_do_without(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not root cannot set up a service, and need not."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **how: path != host.units and access(path, mode, **how))
    assert problems(host.plan()) == [
        f"cannot create {host.units}/pysync.service: {host.units} is not writable; run the command as root, or give "
        "--no-systemd"
    ]
    assert problems(host.plan(replace(host.places, units=None))) == []


@as_root
def test_a_pysync_that_its_user_cannot_read_is_a_problem(host: Host) -> None:
    hidden = host.root / "hidden" / "pysync"
    hidden.parent.mkdir(mode=0o700)
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    assert plan(host.places, ME, host.text(), hidden).problems == ()
    (problem,) = plan(host.places, "nobody", host.text(), hidden).problems
    assert problem.startswith(f"the user nobody cannot run {hidden}; install pysync where that user may read it")
    assert plan(replace(host.places, units=None), "nobody", host.text(), hidden).problems == ()


def test_nobody_but_root_sets_it_up_for_another(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(
        UsageError, match=r"^only root can set up pysync for the user nobody; run the command as root, or as"
    ):
        host.plan(user="nobody")


@pytest.mark.parametrize("name", ["a b", "a'b", "a$b", "a%b", "a\nb", "ä", "..", 'a"b', "a;b"])
def test_a_path_that_would_need_quotes_is_refused(host: Host, name: str) -> None:
    with pytest.raises(UsageError, match="is not an absolute path of letters, digits and"):
        host.plan(replace(host.places, config=host.root / name / "etc", hive_lib=None))


@pytest.mark.parametrize("queue", ["queue", "/var/my queue", "/var/../queue"])
def test_so_is_one_of_a_pysync_toml_that_is_there(host: Host, queue: str) -> None:
    text = host.text().replace(f'"{host.var}"', f'"{queue}"')
    assert problems(host.plan(text=text))[0] == (
        f"{queue!r} is not an absolute path of letters, digits and ./_+@,=-; name another place"
    )


def test_a_spool_in_hive_site_that_only_hadoop_can_find_is_refused(host: Host) -> None:
    property_ = "<property><name>pysync.spool.dir</name><value>${user.home}/spool</value></property></configuration>"
    host.site.write_text(host.site.read_text().replace("</configuration>", property_))
    assert problems(host.plan())[0].startswith("'${user.home}/spool' is not an absolute path")


def test_an_answer_that_does_not_load_is_refused_without_the_name_of_a_draft(host: Host) -> None:
    with pytest.raises(UsageError) as refused:
        host.plan(text=host.text().replace('name = "dr"', 'name = "east"'))
    assert refused.value.message == (
        "targets: 'east' has the name of the source as its cluster (or name), so it would get no changes"
    )


def test_one_that_was_stopped_half_way_is_finished_by_the_next(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    found = host.plan()
    monkeypatch.setattr(steps, "put", fail)
    for step in found.steps:
        try:
            step.apply()
        except OSError:
            monkeypatch.undo()
            break
    assert not (host.etc / "pysync.toml").exists()
    host.init()
    assert set(states(host.plan()).values()) == {"unchanged"}


def test_a_file_that_appears_meanwhile_is_not_overwritten(host: Host) -> None:
    found = host.plan()
    file = next(it for it in found.steps if it.path.name == "pysync.service")
    assert isinstance(file, steps.FileStep)
    file.path.symlink_to(host.root / "elsewhere")
    with pytest.raises(FileExistsError):
        file.apply()
    assert not (host.root / "elsewhere").exists()
    assert [it.name for it in host.units.iterdir()] == ["pysync.service"]


def test_a_dangling_link_in_place_of_a_directory_is_not_followed(host: Host) -> None:
    host.var.mkdir(mode=0o700)
    (host.var / "spool").symlink_to(host.root / "elsewhere")
    found = host.plan()
    assert problems(found) == [f"{host.var}/spool is not a directory; remove it, or name another directory"]
    with pytest.raises(FileExistsError):
        next(it for it in found.steps if it.path == host.var / "spool").apply()
    assert not (host.root / "elsewhere").exists()


@pytest.mark.parametrize("content", ["", "{", '{"version": 1}', "[]", '{"user": "x", "more": 1}'])
def test_a_record_that_is_none_is_refused(host: Host, content: str) -> None:
    host.etc.mkdir()
    (host.etc / "installed.json").write_text(content)
    with pytest.raises(UsageError, match=r"installed\.json is not a record of pysync init; remove it"):
        host.plan()
