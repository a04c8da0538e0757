"""Ask or do: the commands that the running sidecar answers, and that this process carries out where none runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pysync.base.errors import PysyncError
from pysync.cli.output import ask_about, echo
from pysync.control.client import NoSidecar

T = TypeVar("T")


def by_sidecar_or_here(by_sidecar: Callable[[], T], here: Callable[[NoSidecar], T]) -> T:
    """What the running sidecar answers; without one, what this process does. `here` gets the error that says so."""
    try:
        return by_sidecar()
    except NoSidecar as error:
        no_sidecar = error
    return here(no_sidecar)


def ask_or_do(config: Path, target: str, command: str, **arguments: Any) -> dict[str, Any]:
    """What the running sidecar answers about a target; without one, this process does it (pysync.jobs.alone.alone)."""

    def here(_: NoSidecar) -> dict[str, Any]:
        from pysync.base import logs  # noqa: PLC0415 - only a process without a sidecar needs the targets' clients
        from pysync.cli.ends import assert_ends_answer  # noqa: PLC0415
        from pysync.config import load_config  # noqa: PLC0415
        from pysync.jobs.alone import alone  # noqa: PLC0415
        from pysync.sidecar import trash  # noqa: PLC0415

        loaded = load_config(config)
        logs.configure("error", loaded.log.format)
        if command in trash.COMMANDS:
            assert_ends_answer(loaded, [it for it in loaded.targets if it.name == target], source=False)
        return alone(loaded, target, command, arguments)

    return by_sidecar_or_here(lambda: ask_about(config, target, command, **arguments), here)


@contextmanager
def until_sidecar_is_done(work: str, see: str) -> Iterator[None]:
    """Follow what the sidecar does in the block. Raises PysyncError if it stops; `see` is the command after Ctrl-C."""
    try:
        yield
    except NoSidecar as error:
        hint = f"start the sidecar again: the {work} continues"
        raise PysyncError(f"the sidecar stopped during the {work}", hint) from error
    except KeyboardInterrupt:
        echo(f"the {work} continues in the sidecar; see: {see}", err=True)
        raise


@contextmanager
def until_stopped(again: str = "run the command again to continue") -> Iterator[None]:
    """Say after Ctrl-C in the block how to go on: for work that this process does."""
    try:
        yield
    except KeyboardInterrupt:
        echo(f"stopped; {again}", err=True)
        raise
