"""`pysync promote`: a target takes the place of its source, and back, with two metastores and two sidecars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pysync.config import load_config
from pysync.config_file.edits import read
from pysync.install import listener_jar, listener_settings
from pysync.jobs import promoting
from pysync.jobs.promoting import Promotion
from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.mark import MARK_KEYS, Mark
from tests.support import partition, table, wait_until
from tests.support.dumps import fill
from tests.support.federation import Cluster
from tests.support.sidecars import pysync

pytestmark = pytest.mark.servers

_SECTIONS = """
[bridge]
port = {port}
token_file = "{directory}/token"
[queue]
directory = "{directory}/queue"
min_free_mb = 1
"""
_FIRST = """
[source]
name = "onprem"
metastore = "{here.uri}"
[[targets]]
name = "dr"
kind = "hms"
metastore = "{there.uri}"
databases = {{ shop = "dr_shop" }}
include = ["shop.*", "crm"]
locations = {{ "file:{here.directory}/hms/warehouse" = "file:{there.directory}/hms/warehouse" }}
max_drop_share = 0
"""


class Site(Cluster):
    """A metastore with a listener, and the place of a sidecar."""

    def install(self, text: str) -> None:
        """Make this the pysync.toml, with the sections that the test's directories need."""
        self.file.write_text(text + _SECTIONS.format(port=self.bridge_port, directory=self.directory))

    def serve(self) -> EmbeddedMetastore:
        overrides = listener_settings(load_config(self.file), self.directory / "spool")
        return EmbeddedMetastore(
            self.directory / "hms", port=self.port, jars=[listener_jar()], overrides=overrides, name=self.here
        )

    def run(self) -> None:
        self.start()
        wait_until(self.answers, seconds=90, what=f"the sidecar of {self.here}")

    def command(self, *arguments: object, code: int = 0) -> str:
        done = pysync(*arguments, "-c", self.file, seconds=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def asked(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        return json.loads(self.command(*arguments, "--json", code=code))

    def tables(self, database: str) -> dict[str, Any]:
        with closing(Metastore(self.uri)) as metastore:
            return {it.tableName: it for it in metastore.tables_by_name(database, metastore.tables(database))}

    def call(self, request: Any) -> None:
        with closing(Metastore(self.uri)) as metastore:
            metastore.call(request)

    def change(self, database: str, name: str) -> None:
        """Set a parameter of a table."""
        with closing(Metastore(self.uri)) as metastore:
            changed = metastore.table(database, name)
            changed.parameters["changed"] = self.here
            metastore.call(lambda client: client.alter_table(database, name, changed))


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[Site, Site]]:
    """`onprem`, whose sidecar runs and has filled `dr`; the latter's listener has a spool, but no sidecar yet."""
    onprem, dr = Site(tmp_path, "onprem"), Site(tmp_path, "dr")
    with ExitStack() as stack:
        onprem.install(_FIRST.format(here=onprem, there=dr))
        dr.install(_FIRST.format(here=dr, there=onprem).replace('"onprem"', '"x"').replace('"dr"', '"onprem"'))
        dr.file.write_text(dr.file.read_text().replace('"x"', '"dr"'))
        for site in (onprem, dr):
            stack.enter_context(site.serve())
            stack.callback(site.kill)
        onprem.run()
        fill(onprem.uri, "shop", tables=2, large=3, key=False)
        fill(onprem.uri, "crm", tables=0, large=1, key=False)
        fill(onprem.uri, "private", tables=0, large=1, key=False)
        _rest(onprem, 2)
        yield onprem, dr


def _rest(site: Site, databases: int) -> None:
    def is_at_rest() -> bool:
        (target,) = site.status()["targets"]
        return target["queued"] == 0 and site.verified() == ""

    wait_until(is_at_rest, seconds=90, what=f"the target of {site.here}")


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
    _rest(dr, 2)
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
    _rest(onprem, 2)
    assert not any(MARK_KEYS & it.parameters.keys() for it in onprem.tables("shop").values())


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

    onprem.command("pause", "dr")
    onprem.change("shop", "plain")
    wait_until(lambda: onprem.status()["targets"][0]["queued"] > 0, seconds=60, what="the event")
    done = pysync("promote", "dr", "-c", onprem.file, "--out", back, "--yes", "--timeout", "1s")
    assert done.returncode == 1
    assert "1 events still wait for target dr" in done.stderr
