"""A real source metastore gets the database of a backup: the target becomes equal to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from tests.support.restores import assert_follows_a_restore, saying_goodbye

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("sidecar_runs", [True, False])
def test_the_target_becomes_equal_to_a_restored_source(tmp_path: Path, sidecar_runs: bool) -> None:
    """Before: it was no gap, so what differed stayed, with status 0."""
    database, backup = tmp_path / "source" / "derby", tmp_path / "backup"

    def restore() -> None:
        shutil.rmtree(database)
        shutil.copytree(backup, database)

    with Stage(tmp_path, database="disk", source=saying_goodbye(EmbeddedMetastore)) as stage:
        assert_follows_a_restore(stage, lambda: shutil.copytree(database, backup), restore, sidecar_runs=sidecar_runs)
