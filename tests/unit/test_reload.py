"""What differs between two configurations, and acts on targets that wait for the next start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.config import Config, load_config
from pysync.parts import ALL_PARTS
from pysync.queue import EventQueue
from pysync.sidecar import registry
from pysync.sidecar.registry import Act
from pysync.sidecar.reload import Reloads, changed

BASE = """
[source]
name = "onprem"
[bridge]
token_file = "{directory}/token"
[queue]
directory = "{directory}/queue"
min_free_mb = 0
"""
DR = '[[targets]]\nname = "dr"\nkind = "faulty"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    token = tmp_path / "token"
    token.write_text("s" * 64)
    token.chmod(0o600)
    path = tmp_path / "pysync.toml"
    write(path, DR)
    return path


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[EventQueue]:
    with EventQueue(tmp_path / "queue", min_free_bytes=0) as it:
        it.target("dr").register()
        yield it


def write(file: Path, targets: str, more: str = "") -> Config:
    file.write_text(BASE.format(directory=file.parent) + more + targets)
    return load_config(file)


@pytest.mark.parametrize(
    ("more", "targets", "keys"),
    [
        ("", DR, []),
        ('[log]\nlevel = "debug"\n', DR, ["log.level"]),
        ("[web]\nport = 0\n", DR, ["web.port"]),
        ("", DR + 'include = ["a"]\n', ["targets.dr.include"]),
        ("", DR + 'databases = { a = "b" }\n', ["targets.dr.databases.a"]),
        ("", DR + DR.replace("dr", "two"), ["targets.two"]),
        ("", DR.replace("dr", "two"), ["targets.dr", "targets.two"]),
    ],
)
def test_what_differs_is_named_by_its_key(file: Path, more: str, targets: str, keys: list[str]) -> None:
    one, other = load_config(file), write(file, targets, more)
    assert sorted(changed(one, other)) == keys
    assert sorted(changed(other, one)) == sorted(changed(one, other))


def test_the_status_reads_the_file_only_when_it_has_changed(
    file: Path, queue: EventQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    reloads = Reloads(load_config(file), file, queue, ALL_PARTS)
    monkeypatch.setattr("pysync.sidecar.reload.load_config", lambda path: reads.append(path) or load_config(path))
    for _ in range(3):
        found = {"changes": [], "problem": None, "targets": [{"name": "dr", "state": "running"}]}
        assert reloads.status() == {"file": str(file), **found}
    assert len(reads) == 1
    write(file, DR + 'include = ["a"]\n')
    assert reloads.status()["changes"] == ["targets.dr.include"]
    file.unlink()
    assert "pysync.toml" in str(reloads.status()["problem"])
    assert len(reads) == 3


def test_a_file_that_is_taken_has_the_process_begin_anew(file: Path, queue: EventQueue) -> None:
    reloads = Reloads(load_config(file), file, queue, ALL_PARTS)
    assert not reloads.due()
    write(file, DR + DR.replace("dr", "two"))
    assert reloads.ask({}) == {"file": str(file), "changes": ["targets.two"]}
    assert reloads.due()


@pytest.mark.parametrize(
    ("targets", "more", "words"),
    [
        (DR.replace("dr", "two"), "", "keeps the position"),
        (DR + "no_such_key = 1\n", "", "no_such_key"),
        (DR, "[web]\nport = 0\ntls_key = '/nowhere'\n", "tls"),
    ],
)
def test_a_file_that_is_refused_changes_nothing(
    file: Path, queue: EventQueue, targets: str, more: str, words: str
) -> None:
    reloads = Reloads(load_config(file), file, queue, ALL_PARTS)
    file.write_text(BASE.format(directory=file.parent) + more + targets)
    with pytest.raises(PysyncError, match=words):
        reloads.ask({})
    assert not reloads.due()


@pytest.mark.parametrize("key", ["name", "directory"])
def test_what_the_queue_stands_on_stays(file: Path, queue: EventQueue, key: str) -> None:
    reloads = Reloads(load_config(file), file, queue, ALL_PARTS)
    changes = {"name": ('name = "onprem"', 'name = "other"'), "directory": (f"{queue.room.file.parent}", "/tmp/other")}
    file.write_text(file.read_text().replace(*changes[key]))
    with pytest.raises(UsageError, match="cannot change while the sidecar runs"):
        reloads.ask({})


def test_a_token_that_is_not_private_is_refused(file: Path, queue: EventQueue) -> None:
    reloads = Reloads(load_config(file), file, queue, ALL_PARTS)
    (file.parent / "token").chmod(0o644)
    with pytest.raises(PysyncError, match="token"):
        reloads.ask({})
    assert not reloads.accepted


def test_a_rename_that_was_asked_for_is_carried_out_once(file: Path, queue: EventQueue) -> None:
    queue.target("dr").pause("kept")
    registry.request_at_start(queue, Act("dr", "standby"))
    for _ in range(2):
        registry.carry_out(queue, ["standby"])
        assert list(queue.positions()) == ["standby"]
    pause = queue.target("standby").paused()
    assert pause is not None
    assert pause.reason == "kept"


def test_a_removal_that_was_asked_for_is_carried_out(queue: EventQueue) -> None:
    registry.request_at_start(queue, Act("dr"))
    registry.carry_out(queue, ["other"])
    assert list(queue.positions()) == []


def test_an_act_that_the_file_contradicts_by_now_is_given_up(queue: EventQueue) -> None:
    """Somebody has taken the edit back between the command and the start."""
    for act in (Act("dr", "standby"), Act("dr")):
        registry.request_at_start(queue, act)
        registry.carry_out(queue, ["dr"])
        assert list(queue.positions()) == ["dr"]
    registry.carry_out(queue, ["standby"])
    assert list(queue.positions()) == ["dr"]


def test_an_act_is_judged_before_anything_stops(file: Path, queue: EventQueue) -> None:
    reloads = Reloads(load_config(file), file, queue, ALL_PARTS)
    for act, words in (
        ({"target": "dr", "to": "standby"}, "still has a target 'dr'"),
        ({"target": "dr"}, "still has a target 'dr'"),
        ({"target": "dr", "too": "x"}, "cannot be read"),
    ):
        with pytest.raises(PysyncError, match=words):
            reloads.ask({"act": act})
    write(file, DR.replace("dr", "standby"))
    assert reloads.ask({"act": {"target": "dr", "to": "standby"}})["changes"] == ["targets.dr", "targets.standby"]
    assert queue.positions().keys() == {"dr"}, "it is renamed by the next start"
