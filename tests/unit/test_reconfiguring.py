"""A change of file and queue that is cut short anywhere is whole again after a start, or after the same command."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.base.errors import PysyncError
from pysync.config import load_config
from pysync.config_file import file as file_module
from pysync.config_file.file import digest_of
from pysync.config_file.targets import altered, removed, renamed, setting_of
from pysync.control.client import NoSidecar, Unanswered
from pysync.jobs.configuration import Reconfigured, reconfigure
from pysync.queue import EventQueue
from pysync.resync.rescoping import compare_scope, stored_scope
from pysync.sidecar import registry
from pysync.sidecar.registry import Act

BASE = """[source]
name = "onprem"
[queue]
directory = "{directory}/queue"
min_free_mb = 0
[[targets]]
name = "dr"
kind = "faulty"
policy = "sales"
[[targets]]
name = "lake"
kind = "faulty"
"""


class Killed(BaseException):
    """What ends a command."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pysync.toml"
    path.write_text(BASE.format(directory=tmp_path))
    with opened(path) as queue:
        for name in ("dr", "lake"):
            queue.target(name).register()
        queue.target("dr").pause("kept")
    return path


def opened(file: Path) -> EventQueue:
    return EventQueue(file.parent / "queue", min_free_bytes=0)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names in it are where the command is killed: `before` the file is replaced, or `after`."""
    where: list[str] = []
    put = file_module.FileDraft.put

    def killed(draft: file_module.FileDraft) -> None:
        if "before" in where:
            raise Killed
        put(draft)
        if "after" in where:
            raise Killed

    monkeypatch.setattr(file_module.FileDraft, "put", killed)
    return where


def rename(file: Path) -> Reconfigured:
    return reconfigure(file, renamed("dr", "new"), act=Act("dr", "new"), why="", on_progress=lambda _: None)


def remove(file: Path) -> Reconfigured:
    return reconfigure(file, removed("dr"), act=Act("dr"), why="", on_progress=lambda _: None)


def started(file: Path) -> list[str]:
    """The targets in the queue after what a sidecar does first. Raises UsageError where it would not start."""
    named = [it.name for it in load_config(file).targets]
    with opened(file) as queue:
        registry.carry_out(queue, named, digest_of(file))
        registry.assert_named(file.parent, queue.positions(), named)
        return sorted(queue.positions())


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize(("act", "names"), [(rename, ["lake", "new"]), (remove, ["lake"])])
def test_a_killed_command_leaves_what_starts_and_can_be_repeated(
    file: Path, cut: list[str], at: str, act: object, names: list[str]
) -> None:
    assert callable(act)
    cut.append(at)
    with pytest.raises(Killed):
        act(file)
    assert started(file) == (["dr", "lake"] if at == "before" else names)
    cut.clear()
    act(file)
    assert started(file) == names


def test_a_killed_rename_is_completed_by_the_same_command_without_a_start(file: Path, cut: list[str]) -> None:
    cut.append("after")
    with pytest.raises(Killed):
        rename(file)
    cut.clear()
    done = rename(file)
    assert (done.written, done.backlog and done.backlog.paused) == (False, "kept")
    assert started(file) == ["lake", "new"]
    again = rename(file)
    assert (again.written, again.backlog and again.backlog.paused) == (False, "kept")


def test_what_was_noted_for_another_file_is_not_done(file: Path, cut: list[str]) -> None:
    """Killed before the file was replaced; then a person takes the target out, for reasons of their own."""
    cut.append("before")
    with pytest.raises(Killed):
        rename(file)
    text = file.read_text()
    file.write_text(text.replace('name = "dr"', 'name = "new"') + "# by hand\n")
    with pytest.raises(PysyncError, match="pysync target rename dr new"):
        started(file)
    file.write_text(text)
    assert started(file) == ["dr", "lake"]


def test_another_text_than_the_one_that_was_shown_is_refused(file: Path) -> None:
    with pytest.raises(PysyncError, match="changed by somebody else"):
        reconfigure(file, removed("dr"), act=Act("dr"), decided="another", why="", on_progress=lambda _: None)
    assert started(file) == ["dr", "lake"]


def test_a_target_that_only_the_file_has_needs_no_queue(file: Path) -> None:
    file.write_text(file.read_text() + '[[targets]]\nname = "more"\nkind = "faulty"\n')
    done = reconfigure(file, renamed("more", "most"), act=Act("more", "most"), why="", on_progress=lambda _: None)
    assert (done.written, done.backlog, done.taken) == (True, None, None)
    assert started(file) == ["dr", "lake"]


def policy(file: Path, new: str, *, drops: bool) -> None:
    change = altered("dr", [setting_of(f"policy={new}")])
    reconfigure(file, change, act=Act("dr", drops=True) if drops else None, why="", on_progress=lambda _: None)


def scoped(file: Path) -> None:
    """What a start does about the scope of dr."""
    started(file)
    with opened(file) as queue:
        compare_scope(queue, load_config(file).targets[0])


@pytest.mark.parametrize("drops", [True, False])
def test_what_leaves_a_replaced_policy_goes_by_this_change_alone(file: Path, drops: bool) -> None:
    scoped(file)
    policy(file, "crm", drops=drops)
    scoped(file)
    with opened(file) as queue:
        kept = stored_scope(queue, "dr")
        assert kept is not None
        assert [it["policy"] for it in kept.former] == ["sales"]
        assert [it["policy"] for it in kept.dropping] == (["sales"] if drops else [])
    policy(file, "hr", drops=False)
    scoped(file)
    with opened(file) as queue:
        kept = stored_scope(queue, "dr")
        assert kept is not None
        assert [it["policy"] for it in kept.former] == ["sales", "crm"]
        assert [it["policy"] for it in kept.dropping] == (["sales"] if drops else [])
    policy(file, "sales", drops=False)
    scoped(file)
    with opened(file) as queue:
        kept = stored_scope(queue, "dr")
        assert kept is not None
        assert [it["policy"] for it in kept.dropping] == [], "what is in scope again does not leave"


def test_a_replaced_policy_of_a_disabled_target_waits_for_it(file: Path) -> None:
    scoped(file)
    file.write_text(file.read_text().replace('policy = "sales"', 'policy = "sales"\nenabled = false'))
    policy(file, "crm", drops=True)
    scoped(file)
    with opened(file) as queue:
        kept = stored_scope(queue, "dr")
        assert kept is not None
        assert kept.scope["policy"] == "sales"
    file.write_text(file.read_text().replace("enabled = false\n", ""))
    scoped(file)
    with opened(file) as queue:
        kept = stored_scope(queue, "dr")
        assert kept is not None
        assert [it["policy"] for it in kept.dropping] == ["sales"]


@pytest.mark.parametrize("edited", [False, True])
def test_what_the_sidecar_refuses_is_taken_back_unless_somebody_was_there(
    file: Path, edited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = file.read_text()
    status = {"config": {"file": str(file), "changes": [], "problem": None}, "targets": [], "pid": 1}
    monkeypatch.setattr("pysync.jobs.configuration.ask_if_running", lambda *_, **__: status)

    def refuse(*_: object, **__: object) -> None:
        assert "lanes = 2" in file.read_text(), "the file comes before the reload"
        if edited:
            file.write_text(file.read_text() + "# mine\n")
        raise PysyncError("no", "hint")

    monkeypatch.setattr("pysync.jobs.configuration.reloading.begin", refuse)
    with pytest.raises(PysyncError, match="no; .* keeps the change" if edited else "^no; hint$"):
        reconfigure(file, altered("dr", [setting_of("lanes=2")]), why="", on_progress=lambda _: None)
    assert ("# mine" in file.read_text()) is edited
    assert edited or file.read_text() == text


@pytest.mark.parametrize("lost", [Unanswered("gone"), NoSidecar("gone")])
def test_a_file_stays_changed_where_the_sidecar_may_have_taken_it(
    file: Path, lost: PysyncError, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = {"config": {"file": str(file), "changes": [], "problem": None}, "targets": [], "pid": 1}
    monkeypatch.setattr("pysync.jobs.configuration.ask_if_running", lambda *_, **__: status)

    def fail(*_: object, **__: object) -> None:
        raise lost

    monkeypatch.setattr("pysync.jobs.configuration.reloading.begin", fail)
    with pytest.raises(PysyncError, match="gone"):
        reconfigure(file, altered("dr", [setting_of("lanes=2")]), why="", on_progress=lambda _: None)
    assert "lanes = 2" in file.read_text()
