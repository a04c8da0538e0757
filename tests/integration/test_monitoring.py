"""A real metastore, its listener and a sidecar: what is measured, and that the monitoring pack names what is there."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.jars import listener_jar
from pysync.control.client import ask
from pysync.lab import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from tests.support import wait_until
from tests.support.certificates import Authority
from tests.support.promql import expressions, scraped, wrong
from tests.support.sidecars import FaultyPlace, Sidecar, sidecar

LATE = ("pysync_listener_", "pysync_target_calls_total", "pysync_target_drift")
"""What is there only once a listener has reported, a call was made, or source and target were compared."""
NEVER = "pysync_credential_expiry_timestamp_seconds.kind=ticket"
"""What is not there at all: nobody has a ticket here."""


class Stand:
    """The metastore, and a sidecar with two targets, one of them away, whose certificate ends in a day."""

    def __init__(self, directory: Path) -> None:
        self.place = FaultyPlace(directory)
        self.bridge, self.web, source = free_port(), free_port(), free_port()
        authority = Authority(directory)
        client = authority.sign("client")
        self.place.write(
            port=self.bridge,
            more=f"""faults = []
[web]
port = {self.web}
[verify]
every = "1s"
[[targets]]
name = "away"
kind = "hms"
metastore = "thrift://127.0.0.1:{free_port()}"
retry_max_seconds = 0.05
tls = {{ ca_file = "{authority.file}", cert_file = "{client.certificate}", key_file = "{client.key}" }}
""",
        )
        text = self.place.file.read_text()
        self.place.file.write_text(text.replace("[bridge]", f'metastore = "thrift://127.0.0.1:{source}"\n[bridge]', 1))
        overrides = {
            "hive.metastore.event.listeners": "org.pysync.listener.SidecarListener",
            "pysync.source.name": "onprem",
            "pysync.bridge.port": str(self.bridge),
            "pysync.bridge.token.file": str(self.place.token),
            "pysync.spool.dir": str(directory / "spool"),
        }
        self.metastore = EmbeddedMetastore(
            directory / "hms", port=source, name="monitored", jars=[listener_jar()], overrides=overrides
        )

    def scrape(self) -> dict[str, dict[str, set[str]]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web}/metrics", timeout=60) as answer:
            return scraped(answer.read().decode())

    def create(self, database: str) -> None:
        with Metastore(self.metastore.uri) as metastore:
            metastore.call(lambda client: client.create_database(hive.Database(name=database)))


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Stand:
    return Stand(tmp_path_factory.mktemp("monitored"))


@pytest.fixture(scope="module")
def first(stand: Stand, running: Sidecar) -> dict[str, dict[str, set[str]]]:
    """What the first scrape finds, before there is a metastore."""
    return stand.scrape()


@pytest.fixture(scope="module")
def running(stand: Stand) -> Iterator[Sidecar]:
    with sidecar(stand.place) as started:
        yield started


@pytest.fixture(scope="module")
def busy(stand: Stand, running: Sidecar, first: object) -> Iterator[Sidecar]:
    """Once the metastore runs, and a change of it was applied."""
    with stand.metastore:
        stand.create("one")
        wait_until(lambda: target(running)["latency"]["recent"]["count"] > 0, seconds=90, what="a change at the target")
        yield running


def target(running: Sidecar) -> dict[str, Any]:
    found: dict[str, Any] = running.status()["targets"][0]
    return found


def test_the_first_scrape_has_every_series_but_those_of_what_is_not_there_yet(
    first: dict[str, dict[str, set[str]]],
) -> None:
    found = {problem for _, expression in expressions() for problem in wrong(expression, first)}
    assert {it for it in found if not it.startswith((*LATE, "label "))} == {NEVER}


def test_every_expression_names_what_the_sidecar_has(stand: Stand, busy: Sidecar) -> None:
    # In the second that metrics may be old, and until the first comparison.
    wait_until(lambda: "pysync_target_drift" in stand.scrape(), seconds=90, what="a comparison")
    wait_until(lambda: "pysync_target_calls_total" in stand.scrape(), what="a scrape after the first call")
    series = stand.scrape()
    problems = {(what, problem) for what, expression in expressions() for problem in wrong(expression, series)}
    assert problems == {("PysyncCertificateEnding", NEVER)}


def test_a_change_is_measured_from_its_commit_to_the_target(busy: Sidecar) -> None:
    found = target(busy)
    assert found["latency"]["recent"]["count"] == found["latency"]["since_start"]["visible"]["count"] >= 1
    assert found["latency"]["worst"][0]["object"] == "one"
    assert 0 < found["latency"]["recent"]["p50"] < 300
    assert found["calls"]["create_database"] >= 1
    assert found["errors"]["bug"] == 0


def test_the_clock_of_a_listener_on_this_host_is_ours(busy: Sidecar) -> None:
    (listener,) = busy.status()["listeners"]
    assert -2 < listener["clock_offset_seconds"] < 0.1


def test_the_other_target_tells_its_errors_and_when_its_certificate_ends(busy: Sidecar) -> None:
    wait_until(lambda: busy.status()["targets"][1]["retries"] > 0, what="another try")
    found = busy.status()
    away = found["targets"][1]
    assert away["errors"]["unavailable"] > 0
    assert away["backoff_seconds"] > 0
    assert away["latency"]["recent"]["count"] == 0
    ends = {(it["used_for"], it["kind"]): it["expires_at"] - time.time() for it in found["credentials"]}
    assert ends.keys() == {("target away", "certificate"), ("target away", "authority")}
    assert 0 < ends["target away", "certificate"] < 2 * 86400


def test_the_history_of_a_target_is_there_for_whoever_asks(stand: Stand, busy: Sidecar) -> None:
    found = ask(stand.place.queue, "history", target="try", hours=1)
    assert found["step_seconds"] == 60
    assert all(it.keys() == {"at", "lag_seconds", "applied", "parked"} for it in found["points"])
