"""Reconfiguring: a change of pysync.toml and what it means for the queue, beside a running sidecar or without one.

In this order, so that a kill after any step leaves a whole: what happens to a renamed or removed target is noted in the
queue, with the digest of the file that it belongs to. Then the file is replaced. Then the sidecar reloads it, or the
queue is changed here. A start in between does what was noted if the file has that digest, and else forgets it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.toml_file import read_text
from pysync.config_file.file import Change, FileDraft, drafted, locked
from pysync.control import reloading
from pysync.control.client import NoSidecar, Unanswered, ask, ask_if_running
from pysync.queue.queue_file import FILE
from pysync.sidecar import registry
from pysync.sidecar.registry import Act, Backlog

OnProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """What came of a change: whether the file differs now, and the keys that the sidecar took, None where none runs.

    `kept` is what the queue kept of the target of the act, where no sidecar runs.
    """

    draft: FileDraft
    taken: tuple[str, ...] | None
    backlog: Backlog | None = None

    @property
    def written(self) -> bool:
        """Whether the file was changed."""
        return self.draft.before != self.draft.after


def reconfigure(
    path: Path, change: Change, *, act: Act | None = None, decided: str | None = None, why: str, on_progress: OnProgress
) -> Reconfigured:
    """Change the file as a whole, have the sidecar take it, and carry out `act`; each of that only where it is needed.

    Idempotent: what was cut short is completed by the same call. `decided` is the text that a person was shown before
    the decision. `why` is what the journal says. Raises UsageError with the problems of the new file, and PysyncError
    where another text than `decided` is in it, or the sidecar refuses it; then nothing is changed.
    """
    read_text(path)  # reports what is wrong with the path
    with locked(path) as lock:
        draft = drafted(path, change, lock)
        if decided is not None and draft.before != decided:
            raise PysyncError(f"{path} was changed by somebody else meanwhile", "run the command again")
        status = ask_if_running(draft.config.queue.directory, "status")
        if status is None:
            return Reconfigured(draft, None, _resting(draft, act))
        return Reconfigured(draft, _running(draft, act, status, why, on_progress))


def _running(
    draft: FileDraft, act: Act | None, status: dict[str, Any], why: str, on_progress: OnProgress
) -> tuple[str, ...]:
    """Change the file beside the sidecar of that status; the keys that it took."""
    _assert_same_file(draft, status)
    directory = draft.config.queue.directory
    act = _needed(draft, act, [it["name"] for it in status["targets"]])
    if act is None and draft.after == draft.before and not (status["config"]["changes"] or status["config"]["problem"]):
        return ()
    if act is not None:
        noted = asdict(replace(act, digest=draft.digest))
        ask(directory, "expect", act=noted, named=[it.name for it in draft.config.targets])
    draft.put()
    try:
        before, answer = reloading.begin(directory, act=act and asdict(act), why=why)
    except (NoSidecar, Unanswered):
        raise  # it may have taken the file, or will take it when it starts
    except PysyncError as error:
        _restore(draft, error)
        raise
    reloading.wait(directory, before, on_progress)
    return tuple(answer["changes"])


def _restore(draft: FileDraft, refused: PysyncError) -> None:
    """Undo the change that was refused. Raises PysyncError, with both reasons, where that is not possible."""
    try:
        draft.restore()
    except PysyncError as error:
        raise PysyncError(
            f"{refused.message}; {draft.path} keeps the change: {error.message}", refused.hint
        ) from refused


def _assert_same_file(draft: FileDraft, status: dict[str, Any]) -> None:
    if status["config"] is None:
        raise PysyncError("a job of its own runs on the queue", f"wait for process {status['pid']} to end")
    file = Path(status["config"]["file"])
    if file.resolve() != draft.path.resolve():
        raise PysyncError(f"the sidecar runs with another file: {file}", f"name that one: -c {file}")


def _resting(draft: FileDraft, act: Act | None) -> Backlog | None:
    """Change the file, and the queue if there is one; what that kept of the target."""
    directory = draft.config.queue.directory
    if act is None or not (directory / FILE).exists():
        draft.put()
        return None
    named = [it.name for it in draft.config.targets]
    with registry.resting(directory) as queue:
        events = registry.backlog_of(queue, act.target)
        act = _needed(draft, act, list(queue.positions()))
        if act is not None:
            registry.assert_acted(queue, named, act)
            registry.request_at_start(queue, replace(act, digest=draft.digest))
        draft.put()
        registry.carry_out(queue, named, draft.digest)
        return events or (registry.backlog_of(queue, act.to) if act is not None and act.to is not None else None)


def _needed(draft: FileDraft, act: Act | None, known: Collection[str]) -> Act | None:
    """The act, if the queue, with the targets `known`, has anything to do for it, or would refuse it.

    A rename in a file that says it already may be one that was cut short, was done before, or is a mistake.
    """
    if act is None or act.target in known:
        return act
    return act if act.to is not None and draft.before == draft.after else None
