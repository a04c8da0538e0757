"""A hive-site.xml on its disk: replaced as a whole, with a backup, or left as it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.hive_site import files
from pysync.hive_site.document import Document
from pysync.hive_site.files import Rewrite, assert_replaceable
from pysync.hive_site.merge import Edited, merge
from pysync.setup.removal import take_back
from tests.support.hive_sites import APACHE, CDP

LISTENERS = "hive.metastore.event.listeners"


def edit(document: Document, name: str) -> Edited:
    return merge(document, {LISTENERS: "org.pysync.listener.SidecarListener", "pysync.source.name": "east"}, name)


def rewrite(path: Path, how: Callable[[Document, str], Edited] = edit) -> Path | None:
    return files.apply(files.plan(path, how))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "conf" / "hive-site.xml"
    path.parent.mkdir()
    path.write_text(APACHE)
    return path


def names(path: Path) -> list[str]:
    return sorted(it.name for it in path.parent.iterdir())


def test_the_file_as_it_was_stays_beside_it(site: Path) -> None:
    backup = rewrite(site)
    assert backup == site.with_name("hive-site.xml.pysync-backup")
    assert (backup.read_text(), "pysync.source.name" in site.read_text()) == (APACHE, True)
    assert names(site) == ["hive-site.xml", "hive-site.xml.pysync-backup"]


def test_a_backup_is_never_overwritten_nor_made_twice(site: Path) -> None:
    rewrite(site)
    site.write_text(CDP)
    second = rewrite(site)
    assert [it.name for it in files.backups(site)] == ["hive-site.xml.pysync-backup", "hive-site.xml.pysync-backup.1"]
    assert [it.read_bytes() for it in files.backups(site)] == [APACHE.encode(), CDP.encode()]
    site.write_text(CDP)
    assert rewrite(site) == second
    assert len(files.backups(site)) == 2


def test_twice_is_once_and_makes_no_backup(site: Path) -> None:
    rewrite(site)
    before = site.stat()
    assert rewrite(site) is None
    assert (site.stat().st_ino, site.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
def test_the_mode_stays_whatever_the_umask_is(site: Path, mode: int) -> None:
    site.chmod(mode)
    old = os.umask(0o077)
    try:
        backup = rewrite(site)
    finally:
        os.umask(old)
    assert backup is not None
    assert [stat.S_IMODE(it.stat().st_mode) for it in (site, backup)] == [mode, mode]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away: run this test as root")
def test_owner_and_group_stay(site: Path) -> None:
    os.chown(site, 4711, 4712)
    backup = rewrite(site)
    assert backup is not None
    assert [(it.stat().st_uid, it.stat().st_gid) for it in (site, backup)] == [(4711, 4712)] * 2


def test_extended_attributes_stay(site: Path) -> None:
    try:
        os.setxattr(site, "user.label", b"kept")
    except OSError as error:
        pytest.skip(f"the disk of {site} has no extended attributes: {error}")
    rewrite(site)
    assert os.getxattr(site, "user.label") == b"kept"


def test_a_link_is_followed_and_stays_one(site: Path, tmp_path: Path) -> None:
    link, further = tmp_path / "hive-site.xml", tmp_path / "further"
    further.symlink_to(site)
    link.symlink_to("further")
    backup = rewrite(link)
    assert (link.is_symlink(), further.is_symlink(), backup) == (True, True, files.backups(site)[0])
    assert "pysync.source.name" in site.read_text()
    assert names(link) == ["conf", "further", "hive-site.xml"]


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(site: Path) -> None:
    planned = files.plan(site, edit)
    site.write_text(CDP)
    with pytest.raises(PysyncError, match="was changed by somebody else; run the command again"):
        files.apply(planned)
    assert (site.read_bytes().decode(), names(site)) == (CDP, ["hive-site.xml"])


def test_planning_changes_nothing(site: Path) -> None:
    planned = files.plan(site, edit)
    assert (planned.path, planned.before, bool(planned.changes)) == (site, APACHE.encode(), True)
    assert (site.read_text(), names(site)) == (APACHE, ["hive-site.xml"])


@pytest.mark.parametrize("call", ["write", "fsync", "fchown", "link", "replace"])
def test_a_disk_that_fails_leaves_all_as_it_was(site: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    planned = files.plan(site, edit)
    if call == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    elif call == "write":
        monkeypatch.setattr(os, "fdopen", fail_at_write)
    else:
        monkeypatch.setattr(os, call, fail)
    with pytest.raises(PysyncError, match=r"^cannot replace .*: No space left on device; nothing was changed$"):
        files.apply(planned)
    monkeypatch.undo()
    assert (site.read_text(), names(site)) == (APACHE, ["hive-site.xml"])


def fail_at_write(descriptor: int, mode: str) -> object:
    if mode == "rb":
        return open(descriptor, mode)
    os.close(descriptor)
    return open("/dev/full", mode, buffering=0)  # noqa: PTH123 - closed by who takes it


def test_a_file_whose_group_cannot_be_kept_is_refused_before_anything_is_written(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: pysync init had made its directories when it failed with "Operation not permitted"."""
    monkeypatch.setattr("pysync.hive_site.files._ROOT", -1)  # who runs this may be root
    monkeypatch.setattr(os, "getegid", lambda: site.stat().st_gid + 1)
    monkeypatch.setattr(os, "getgroups", list)
    with pytest.raises(UsageError, match="belongs to a group without you; run the command as root, or as a member"):
        assert_replaceable(site)
    monkeypatch.setattr(os, "getgroups", lambda: [site.stat().st_gid])
    assert_replaceable(site)


def test_another_users_file_is_refused_before_anything_is_written(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: site.stat().st_uid + 1)
    with pytest.raises(UsageError, match="belongs to another user; run the command as root, or as that user"):
        rewrite(site)
    assert names(site) == ["hive-site.xml"]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.symlink_to("nowhere")),
    ],
)
def test_what_cannot_be_read_is_named(site: Path, make: Callable[[Path], object]) -> None:
    make(site)
    with pytest.raises(UsageError, match=rf"^cannot read {site.parent}/"):
        rewrite(site)


def included(site: Path, href: str) -> Path:
    text = f'<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{href}"/></configuration>'
    site.write_text(text)
    return site


@pytest.mark.parametrize("how", ["more.xml", "{directory}/more.xml", "file://{directory}/more.xml"])
def test_a_file_that_is_included_and_has_nothing_of_ours_is_well(site: Path, how: str) -> None:
    included(site, how.format(directory=site.parent))
    (site.parent / "more.xml").write_text("<configuration><property><name>a</name></property></configuration>")
    rewrite(site)
    assert '<xi:include href="' in site.read_text()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (f"<configuration><property><name>{LISTENERS}</name></property></configuration>", f"which sets {LISTENERS}"),
        ('<configuration><include href="third.xml"/></configuration>', "which includes other files"),
        ("<configuration>", "which cannot be read"),
        (None, "which cannot be read"),
    ],
)
def test_an_included_file_that_may_hold_the_list_is_refused(site: Path, more: str | None, words: str) -> None:
    """A list in our file would take the place of the one that is there."""
    included(site, "more.xml")
    if more is not None:
        (site.parent / "more.xml").write_text(more)
    before = site.read_bytes()
    with pytest.raises(UsageError, match=rf"includes .*more\.xml.* {words}; paste what pysync hive-site prints"):
        rewrite(site)
    assert site.read_bytes() == before


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: (path.touch(), os.truncate(path, 2**34)),
    ],
)
def test_an_included_file_without_end_is_refused(site: Path, make: Callable[[Path], object]) -> None:
    make(site.parent / "more.xml")
    with pytest.raises(UsageError, match=r"includes 'more\.xml', which cannot be read"):
        rewrite(included(site, "more.xml"))


def test_taken_back_it_has_its_bytes_and_both_forms_are_kept(site: Path) -> None:
    site.write_bytes(CDP.encode())
    rewrite(site)
    merged = site.read_bytes()
    rewrite(site, take_back)
    assert site.read_bytes() == CDP.encode()
    assert [it.read_bytes() for it in files.backups(site)] == [CDP.encode(), merged]


def test_a_name_that_a_backup_would_have_may_be_taken(site: Path) -> None:
    first = site.with_name("hive-site.xml.pysync-backup")
    first.mkdir()
    assert rewrite(site) == site.with_name("hive-site.xml.pysync-backup.1")


def test_a_rewrite_tells_its_changes(site: Path) -> None:
    planned: Rewrite = files.plan(site, edit)
    assert [(it.name, it.old, it.new) for it in planned.changes] == [
        (LISTENERS, None, "org.pysync.listener.SidecarListener"),
        ("pysync.source.name", None, "east"),
    ]
