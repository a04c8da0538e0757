"""The queue's directory is moved while the sidecar runs: nothing is lost, and it goes on once the directory is back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from pysync.config import load_config
from pysync.control.client import NoSidecar
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until

pytestmark = pytest.mark.servers


def test_what_happens_while_the_queue_is_elsewhere_comes_once_it_is_back(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.start_target()
        stage.source.start()
        stage.start_sidecar()
        directory = load_config(stage.config_file).queue.directory
        elsewhere = directory.with_name("elsewhere")
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            name = new_database(source, "moved")
            source.call(lambda client: client.create_table(table(name, "before")))
            wait_until(lambda: target.table(name, "before") is not None, what="the table from before")
            gaps = len(stage.status()["gaps"])
            directory.rename(elsewhere)
            source.call(lambda client: client.create_table(table(name, "meanwhile")))
            with pytest.raises(NoSidecar) as refused:
                stage.status()
            elsewhere.rename(directory)
            wait_until(lambda: target.table(name, "meanwhile") is not None, what="the table from meanwhile")
        assert "if it was moved, move it back" in str(refused.value)
        assert len(stage.status()["gaps"]) == gaps
