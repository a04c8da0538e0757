"""TLS with the released metastores; every way to fail is in tests/integration/test_tls.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.settings import TlsSettings
from tests.support.certificates import PASSWORD, Authority
from tests.versions.conftest import Report
from tests.versions.releases import RELEASES
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need


@pytest.mark.parametrize("version", RELEASES)
def test_hives_own_tls(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    authority = Authority(tmp_path)
    overrides = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(authority.sign("hms", "127.0.0.1").keystore),
        "hive.metastore.keystore.password": PASSWORD,
    }
    make = metastore_of(version)
    with make(tmp_path / "hms", overrides=overrides, tls=TlsSettings(ca_file=authority.file)) as server:
        with Metastore(server.access) as metastore:
            assert metastore.databases() == metastore.databases() == ["default"]
        with Metastore(server.uri) as plain, pytest.raises(MetastoreUnavailable, match="needs TLS; set tls"):
            plain.databases()
