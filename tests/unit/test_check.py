"""pysync check: what it asks the source about the places of databases, and a source that refuses to answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.config import load_partial
from pysync.lab.aws import EmbeddedAws
from pysync.setup.check import Finding, check_config
from tests.support.notifications import ServedLog
from tests.support.receivers import SECRET, WebhookReceiver

HMS = '[[targets]]\nname = "dr"\nkind = "hms"\nmetastore = "{uri}"\n'
GLUE = '[[targets]]\nname = "dr"\nkind = "glue"\nregion = "us-east-1"\nendpoint_url = "{uri}"\n'


class Databases(ServedLog):
    """A metastore with one database, which refuses some calls."""

    def __init__(self) -> None:
        super().__init__()
        self.databases["db"] = hive.Database("db", "", "hdfs://old/db", {})
        self.asked: list[str] = []
        self.refused: frozenset[str] = frozenset()

    def get_all_databases(self) -> list[str]:
        self._note("get_all_databases")
        return ["db"]

    def get_database(self, name: str) -> Any:
        self._note("get_database")
        return super().get_database(name)

    def _note(self, call: str) -> None:
        self.asked.append(call)
        if call in self.refused:
            raise hive.MetaException(f"{call} is not for you")


@pytest.fixture
def source() -> Iterator[Databases]:
    with closing(Databases()) as made:
        yield made


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as made:
        for key, value in made.environment().items():
            monkeypatch.setenv(key, value)
        yield made


def checked(directory: Path, source: Databases, target: str) -> dict[str, Finding]:
    file = directory / "pysync.toml"
    file.write_text(f'[source]\nname = "onprem"\nmetastore = "{source.uri}"\n{target}')
    return {it.what: it for it in check_config(load_partial(file))}


def test_a_database_that_engines_at_the_target_cannot_read_is_found(
    tmp_path: Path, source: Databases, aws: EmbeddedAws
) -> None:
    assert checked(tmp_path, source, GLUE.format(uri=aws.url))["target dr"].ok  # there is no table yet
    source.tables["db.t"] = hive.Table(tableName="t", dbName="db")
    found = checked(tmp_path, source, GLUE.format(uri=aws.url))["target dr"]
    assert not found.ok
    assert "tables of db will be parked" in found.detail


def test_where_any_place_may_be_read_no_database_is_asked_for(tmp_path: Path, source: Databases) -> None:
    with closing(Databases()) as target:
        assert checked(tmp_path, source, HMS.format(uri=target.uri))["target dr"].ok
    assert "get_database" not in source.asked


@pytest.mark.parametrize("call", ["get_all_databases", "get_database"])
def test_a_source_that_refuses_is_found_as_such_and_not_at_the_target(
    tmp_path: Path, source: Databases, aws: EmbeddedAws, call: str
) -> None:
    source.refused = frozenset({call})
    found = checked(tmp_path, source, GLUE.format(uri=aws.url))
    assert found["target dr"].ok, found["target dr"].detail
    assert found["source metastore"].ok == (call == "get_database")
    assert call == "get_database" or "is not for you" in found["source metastore"].detail


def test_a_receiver_of_webhooks_is_asked_without_an_event(tmp_path: Path, source: Databases) -> None:
    secret = tmp_path / "webhook-secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with closing(WebhookReceiver()) as receiver:
        hook = f'[[notify]]\nname = "hook"\nurl = "{receiver.url}"\nsecret_file = "{secret}"\n'
        found = checked(tmp_path, source, HMS + hook)["receiver hook"]
        assert (found.ok, receiver.probed, receiver.events) == (True, ["*"], [])
    found = checked(tmp_path, source, HMS + hook)["receiver hook"]
    assert (found.ok, found.detail) == (False, "receiver hook cannot be reached: Connection refused")
