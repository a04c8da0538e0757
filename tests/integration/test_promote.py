"""`pysync promote`: a target takes the place of its source, and back, with two metastores and two sidecars."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pysync.config_file.edits import read
from pysync.jobs import promoting
from pysync.jobs.promoting import Promotion
from pysync.metastore.client import Metastore
from pysync.model.definition import definition
from pysync.model.mark import MARK_KEYS, Mark
from tests.integration.test_copy_drain import COPY, files_in
from tests.support import partition, table, wait_until
from tests.support.ddl import DdlClient
from tests.support.dumps import fill
from tests.support.sidecars import pysync
from tests.support.sites import Site, two_sites


def _fill(uri: str) -> None:
    fill(uri, "shop", tables=2, large=3, key=False)
    fill(uri, "crm", tables=0, large=1, key=False)
    fill(uri, "private", tables=0, large=1, key=False)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[Site, Site]]:
    with two_sites(tmp_path, _fill) as running:
        yield running


def _owners(site: Site, database: str) -> set[str | None]:
    marks = [Mark.read(it.parameters) for it in site.tables(database).values()]
    return {None if mark is None else mark.source for mark in marks}


def _hand_over_until_killed(onprem: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as five writes: one object has its mark at the source, and still has one at the target."""
    promotion, write, left = Promotion.of(onprem.file, "dr"), promoting._write_parameters, [5]

    def dies(*arguments: Any) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(*arguments)

    promotion.stop_replication()
    with monkeypatch.context() as patched:
        patched.setattr(promoting, "_write_parameters", dies)
        with pytest.raises(KeyboardInterrupt):
            promotion.hand_over(lambda *_: None)


@pytest.mark.servers
@pytest.mark.timeout(600)
def test_a_target_takes_the_place_of_its_source_and_gives_it_back(
    sites: tuple[Site, Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onprem, dr = sites
    back, again = tmp_path / "back.toml", tmp_path / "again.toml"
    shown = onprem.asked("promote", "dr", "--out", back, "--dry-run")
    assert (shown["databases"], shown["promoted"], back.exists()) == (2, False, False)
    assert (_owners(onprem, "shop"), _owners(dr, "dr_shop")) == ({None}, {"onprem"})

    _hand_over_until_killed(onprem, monkeypatch)
    done = onprem.asked("promote", "dr", "--out", back, "--yes")
    assert (done["promoted"], done["differences"], done["refused"]) == (True, [], [])
    assert 0 < done["tables"] < shown["tables"], "the rest was done before the kill"
    assert (_owners(onprem, "shop"), _owners(dr, "dr_shop"), _owners(dr, "crm")) == ({"dr"}, {None}, {None})
    assert _owners(onprem, "private") == {None}, "out of scope, so not the target's"
    assert onprem.asked("promote", "dr", "--out", back, "--yes")["tables"] == 0, "the second time there is nothing left"

    dr.install(back.read_text())
    dr.run()
    before = onprem.tables("shop")
    assert dr.asked("bootstrap")["targets"][0]["left_out"] == 0
    assert onprem.tables("shop") == before, "both ends were equal"
    dr.change("dr_shop", "plain")
    dr.call(lambda client: client.drop_table("dr_shop", "t000", False))
    dr.call(lambda client: client.add_partition(partition(dr.tables("dr_shop")["large"], ["new"])))
    dr.call(lambda client: client.create_table(table("crm", "made_at_dr")))
    wait_until(lambda: "made_at_dr" in onprem.tables("crm"), seconds=60, what="the new table at onprem")
    dr.rest()
    assert onprem.tables("shop")["plain"].parameters["changed"] == "dr"
    assert "t000" not in onprem.tables("shop"), "a drop goes back, too"
    assert _owners(onprem, "private") == {None}

    assert dr.asked("promote", "onprem", "--out", again, "--yes")["promoted"] is True
    first, second = (read(it.read_text())["targets"][0] for it in (onprem.file, again))
    assert second == {key: it for key, it in first.items() if key != "enabled"}
    assert (_owners(onprem, "shop"), _owners(dr, "dr_shop")) == ({None}, {"onprem"})
    onprem.command("target", "enable", "dr")
    onprem.change("shop", "t001")
    wait_until(lambda: "changed" in dr.tables("dr_shop")["t001"].parameters, seconds=60, what="the change at dr")
    onprem.rest()
    assert not any(MARK_KEYS & it.parameters.keys() for it in onprem.tables("shop").values())


@pytest.mark.servers
@pytest.mark.timeout(300)
def test_nothing_changes_sides_where_the_ends_differ(sites: tuple[Site, Site], tmp_path: Path) -> None:
    onprem, dr = sites
    back = tmp_path / "back.toml"
    dr.change("dr_shop", "plain")
    done = onprem.asked("promote", "dr", "--out", back, "--yes", code=1)
    assert (done["promoted"], [it["name"] for it in done["differences"]]) == (False, ["dr_shop.plain"])
    assert (_owners(onprem, "shop"), _owners(dr, "dr_shop")) == ({None}, {"onprem"})
    (target,) = onprem.status()["targets"]
    assert target["state"] == "running", "it was enabled again"
    assert not back.exists(), "nothing has changed sides, so nothing is to be installed"

    onprem.command("pause", "dr")
    onprem.change("shop", "plain")
    wait_until(lambda: onprem.status()["targets"][0]["queued"] > 0, seconds=60, what="the event")
    late = pysync("promote", "dr", "-c", onprem.file, "--out", back, "--yes", "--timeout", "1s")
    assert late.returncode == 1
    assert "1 event not at target dr yet" in late.stderr
    assert not back.exists()


def _load(site: Site, seed: int, seconds: float, during: Callable[[], object] = lambda: None) -> None:
    """Eight clients with random DDL, each in a database of its own; `during` is called while they are at work."""
    clients = [DdlClient(site.uri, f"load{number}", seed + number, pause=0.02) for number in range(8)]
    for client in clients:
        client.start()
    try:
        time.sleep(seconds)
        during()
    finally:
        for client in clients:
            client.stop()
    assert all(client.done > 10 for client in clients), [client.done for client in clients]


def _contents(site: Site) -> dict[str, list[str]]:
    """Each table of the clients' databases with its definition and partitions; places differ by their site alone."""
    found = {}
    with closing(Metastore(site.uri)) as metastore:
        for database in (it for it in metastore.databases() if it.startswith("load")):
            for name in metastore.tables(database):
                items = [metastore.table(database, name), *metastore.partitions(database, name)]
                texts = (str(definition(it)).replace(str(site.directory), "") for it in items)
                found[f"{database}.{name}"] = sorted(texts)
    return found


@pytest.mark.crash
@pytest.mark.timeout(1200)
def test_both_ends_are_equal_after_promotions_amid_the_work_of_eight_clients(
    sites: tuple[Site, Site], tmp_path: Path
) -> None:
    onprem, dr = sites
    back, again = tmp_path / "back.toml", tmp_path / "again.toml"

    def too_early() -> None:
        done = pysync("promote", "dr", "-c", onprem.file, "--out", back, "--yes", "--timeout", "1s", "--json")
        assert done.returncode == 1, "changes still come"
        assert _owners(onprem, "shop") == {None}

    _load(onprem, 1, 20, too_early)
    assert onprem.asked("promote", "dr", "--out", back, "--yes", "--timeout", "3m")["promoted"] is True
    assert _contents(onprem) == _contents(dr) != {}

    dr.install(back.read_text())
    dr.run()
    dr.command("bootstrap")
    _load(dr, 100, 20)
    dr.rest()
    assert _contents(onprem) == _contents(dr) != {}

    assert dr.asked("promote", "onprem", "--out", again, "--yes", "--timeout", "3m")["promoted"] is True
    onprem.command("target", "enable", "dr")
    onprem.command("bootstrap")
    _load(onprem, 200, 10)
    onprem.rest()
    assert _contents(onprem) == _contents(dr) != {}
    assert [site.status()["targets"][0]["parked"] for site in sites] == [0, 0]


def _directory(site: Site, database: str) -> Path:
    return Path(urlsplit(site.tables(database)["plain"].sd.location).path)


def _overwrite(site: Site, database: str, content: bytes) -> None:
    """As an INSERT OVERWRITE: another file in place of all others, then the metastore hears of it."""
    directory = _directory(site, database)
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("part-*"):
        old.unlink()
    (directory / f"part-{content.decode()}").write_bytes(content)
    site.change(database, "plain", content.decode())


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_data_goes_both_ways_too(tmp_path: Path) -> None:
    """What was copied from the former source is known as a copy there: files that are gone at the new one go."""
    with two_sites(tmp_path, _fill, COPY) as (onprem, dr):
        _overwrite(onprem, "shop", b"1")
        wait_until(lambda: _directory(dr, "dr_shop").is_dir(), seconds=120, what="the copy")
        onprem.rest()
        ends = _directory(onprem, "shop"), _directory(dr, "dr_shop")
        assert [files_in(it) for it in ends] == [{"part-1": b"1"}] * 2

        onprem.command("promote", "dr", "--out", tmp_path / "back.toml", "--yes")
        dr.install((tmp_path / "back.toml").read_text())
        dr.run()
        dr.command("bootstrap")
        _overwrite(dr, "dr_shop", b"2")
        wait_until(lambda: files_in(ends[0]) == {"part-2": b"2"}, seconds=120, what="the files at onprem")

        dr.command("promote", "onprem", "--out", tmp_path / "again.toml", "--yes")
        onprem.command("target", "enable", "dr")
        onprem.command("bootstrap")
        _overwrite(onprem, "shop", b"3")
        wait_until(lambda: files_in(ends[1]) == {"part-3": b"3"}, seconds=120, what="the files at dr")
