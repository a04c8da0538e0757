"""The command `views`: the views of a source are tried once for all who ask, and again when that is long ago."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from pysync.base.bounded import NoAnswer
from pysync.base.errors import PysyncError
from pysync.config import load_config
from pysync.metastore.reads import Reads
from pysync.parts import ALL_PARTS
from pysync.sidecar.sidecar import Sidecar
from pysync.sidecar.viewing import ViewsOfSource
from pysync.sidecar.why import EndsReader
from pysync.targets.glue import GlueSettings
from tests.support.sidecars import Place


class Source:
    """Has no databases; answers when it may."""

    def __init__(self) -> None:
        self.may_answer, self.asked = Event(), 0
        self.may_answer.set()

    @contextmanager
    def opened(self) -> Iterator[Any]:
        self.asked += 1
        self.may_answer.wait(60.0)
        yield self

    def databases(self) -> list[str]:
        return []


@pytest.fixture
def source() -> Source:
    return Source()


def viewing(source: Source) -> ViewsOfSource:
    return ViewsOfSource(EndsReader(source.opened), [GlueSettings(name="lake", kind="glue", region="eu-west-1")])


def test_an_answer_serves_all_who_ask_soon(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = viewing(source)
    first = asked({})
    assert [it["target"] for it in first["targets"]] == ["lake"]
    assert (asked({}), source.asked) == (first, 1)
    monkeypatch.setattr("pysync.sidecar.viewing._FRESH_SECONDS", 0.0)
    asked({})
    assert source.asked == 2


def test_a_source_that_hangs_is_asked_once(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.sidecar.viewing._SECONDS", 0.05)
    source.may_answer.clear()
    asked = viewing(source)
    for _ in range(6):
        with pytest.raises(NoAnswer, match="the source, asked for all its views, did not answer") as error:
            asked({})
        assert error.value.hint == "they are still tried; ask again"
    assert source.asked == 1
    source.may_answer.set()


def test_an_error_is_not_kept() -> None:
    @contextmanager
    def opened() -> Iterator[Reads]:
        failures.append(1)
        raise PysyncError("no such host")
        yield

    failures: list[int] = []
    asked = ViewsOfSource(EndsReader(opened), [])
    for _ in range(2):
        with pytest.raises(PysyncError, match="no such host"):
            asked({})
    assert len(failures) == 2


class GluePlace(Place):
    """Its target is a Glue that nobody asks."""

    def target(self) -> str:
        return 'name = "lake"\nkind = "glue"\nregion = "eu-west-1"\nendpoint_url = "http://127.0.0.1:1"'


@pytest.mark.parametrize(("place", "is_offered"), [(GluePlace, True), (Place, False)])
def test_a_sidecar_offers_it_if_a_target_translates_views(place: type[Place], is_offered: bool, tmp_path: Path) -> None:
    sidecar = Sidecar(load_config(place(tmp_path).file), ALL_PARTS, bridge=False)
    try:
        assert ("views" in sidecar.answers) == is_offered
        if is_offered:
            with pytest.raises(PysyncError, match="metastore is not set"):
                sidecar.answers["views"]({})
    finally:
        sidecar.stop()
