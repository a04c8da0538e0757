"""A real metastore forbids one table among others: that is parked, the others arrive, and it comes once granted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import table, wait_until
from tests.support.stages import assert_converges

_SECURITY = "org.apache.hadoop.hive.ql.security"
_RULES = f"{_SECURITY}.authorization"
_GUARDED = {
    "hive.metastore.pre.event.listeners": f"{_RULES}.AuthorizationPreEventListener",
    "hive.security.metastore.authorization.manager": f"{_RULES}.StorageBasedAuthorizationProvider",
    "hive.security.metastore.authenticator.manager": f"{_SECURITY}.HadoopDefaultMetastoreAuthenticator",
}
"""A table may be created where its directory may be written: Hive's storage based authorization."""


@pytest.mark.crash
def test_one_table_that_the_metastore_forbids_is_parked_and_all_others_arrive(tmp_path: Path) -> None:
    guarded = partial(EmbeddedMetastore, overrides=_GUARDED)
    with Stage(tmp_path, target=guarded, options="parked_retry_seconds = 1") as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        forbidden = tmp_path / "target" / "warehouse" / "vault" / "secret"
        forbidden.mkdir(parents=True)
        forbidden.chmod(0o500)
        others = [f"t{number}" for number in range(20)]
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            source.call(lambda client: client.create_database(hive.Database(name="shop")))
            for name in [*others[:10], "secret", *others[10:]]:
                source.call(lambda client, name=name: client.create_table(_table(stage, name)))
            wait_until(lambda: set(target.tables("shop")) >= set(others), what="the others")
            wait_until(lambda: stage.status()["targets"][0]["parked"] == 1, what="parking the one that is forbidden")
            assert "secret" not in target.tables("shop")
            assert stage.status()["targets"][0]["queued"] == 0, "nothing else waits for it"
            forbidden.chmod(0o700)
            wait_until(lambda: "secret" in target.tables("shop"), what="what is granted now")
        assert_converges(stage)


def _table(stage: Stage, name: str) -> hive.Table:
    made = table("shop", name)
    if name == "secret":
        made.sd.location = f"file:{stage.directory}/source/warehouse/vault/secret"
    return made
