"""What a command does where a sidecar runs, and where none does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.base.errors import PysyncError
from pysync.cli.asking import by_sidecar_or_here, until_sidecar_is_done, until_stopped
from pysync.control.client import NoSidecar, Unanswered, ask_if_running


def _refuse(error: Exception) -> str:
    raise error


def test_the_sidecar_does_it_where_one_runs() -> None:
    assert by_sidecar_or_here(lambda: "sidecar", lambda _: "here") == "sidecar"


def test_this_process_does_it_where_none_runs_and_is_told_why() -> None:
    assert (
        by_sidecar_or_here(lambda: _refuse(NoSidecar("none")), lambda error: f"here: {error.message}") == "here: none"
    )


@pytest.mark.parametrize("error", [Unanswered("no answer"), PysyncError("refused")])
def test_what_a_running_sidecar_does_not_do_nobody_else_does(error: PysyncError) -> None:
    with pytest.raises(type(error), match=error.message):
        by_sidecar_or_here(lambda: _refuse(error), lambda _: "here")


def test_an_error_here_is_not_one_of_the_sidecar() -> None:
    with pytest.raises(PysyncError) as raised:
        by_sidecar_or_here(lambda: _refuse(NoSidecar("none")), lambda _: _refuse(PysyncError("refused")))
    assert raised.value.__context__ is None


def test_without_a_sidecar_there_is_no_answer(tmp_path: Path) -> None:
    assert ask_if_running(tmp_path, "status") is None


def test_a_sidecar_that_stops_meanwhile_is_to_be_started_again() -> None:
    with pytest.raises(PysyncError, match="stopped during the replay") as raised, until_sidecar_is_done("replay", "it"):
        _refuse(NoSidecar("none"))
    assert raised.value.hint == "start the sidecar again: the replay continues"


def test_after_ctrl_c_it_is_said_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), until_sidecar_is_done("replay", "pysync status dr"):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), until_stopped():
        raise KeyboardInterrupt
    assert capsys.readouterr().err.splitlines() == [
        "the replay continues in the sidecar; see: pysync status dr",
        "stopped; run the command again to continue",
    ]
