"""A target whose credentials never come: it waits and says why, and nothing else waits for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support import wait_until
from tests.support.drains import create, create_database
from tests.support.sidecars import FaultyPlace, pysync_here, send, sidecar, wait_for


class PlaceWithLake(FaultyPlace):
    """Beside `try` it has the target `lake`, of kind glue."""

    def target(self) -> str:
        lake = 'name = "lake"\nkind = "glue"\nregion = "eu-west-1"\ntimeout_seconds = 1\n'
        return f"{super().target()}\n[[targets]]\n{lake}"


def test_a_credential_process_that_hangs_holds_up_its_target_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: no answer ever, and the target was `running`."""
    for name in [it for it in os.environ if it.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    (tmp_path / "config").write_text("[default]\ncredential_process = sleep 1000\n")
    place = PlaceWithLake(tmp_path)
    with sidecar(place) as running:
        send(running, create_database(), *(create(f"db.t{it}") for it in range(5)))

        def lake() -> dict:
            return next(it for it in running.status()["targets"] if it["name"] == "lake")

        wait_for(running, queued=0)
        wait_until(lambda: lake()["state"] == "waiting", what="the reason")
        assert "credential_process did not answer within 1 s" in lake()["last_error"]["reason"]
        assert (lake()["parked"], lake()["queued"]) == (0, 6)
        found = {it["what"]: it["detail"] for it in json.loads(pysync_here("check", "-c", place.file, "--json").stdout)}
        assert "credential_process did not answer within 1 s" in found["target lake"]
        assert running.stop() == 0
