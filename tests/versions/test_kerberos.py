"""The login by Kerberos, against MIT's KDC and real metastores: `make test SUITE=kerberos`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.channel import SocketChannel
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.metastore.settings import KerberosSettings, TlsSettings
from pysync.model.names import TableName
from pysync.targets.base import Outcome, Unavailable
from pysync.targets.hms import HmsSettings, hms_target
from tests.conformance.objects import Source, partition, table
from tests.support import new_database, wait_until
from tests.support import table as plain_table
from tests.support.certificates import Authority
from tests.support.sidecars import pysync
from tests.support.tls_front import tls_front
from tests.versions.conftest import Report
from tests.versions.kerberos import CLIENT, REALM, SERVICE, KerberizedMetastore, Realm, environment, missing
from tests.versions.releases import RELEASES
from tests.versions.server import VersionedMetastore
from tests.versions.test_pairs import need

LIFE = 30
"""Of a ticket, in seconds."""

if lacking := missing():
    pytest.skip(lacking, allow_module_level=True)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    directory = tmp_path_factory.mktemp("realm")
    made = Realm(directory, life=LIFE)
    with made as running, environment(KRB5_CONFIG=running.config, KRB5CCNAME=f"FILE:{directory}/nothing"):
        yield running


@pytest.fixture(scope="module")
def keytab(realm: Realm) -> Path:
    """Of the service."""
    return realm.keytab(SERVICE)


@pytest.fixture(scope="module")
def client(realm: Realm) -> KerberosSettings:
    return KerberosSettings(service_principal=SERVICE, client_principal=CLIENT, keytab=realm.keytab(CLIENT))


Start = Callable[..., KerberizedMetastore]


class KerberizedRelease(KerberizedMetastore, VersionedMetastore):
    """Of a released Hive."""


@pytest.fixture(scope="module")
def servers(
    realm: Realm, keytab: Path, client: KerberosSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """A running metastore for each protection, kept for all tests."""
    found: dict[str, KerberizedMetastore] = {}

    def start(protection: str = "privacy") -> KerberizedMetastore:
        if protection not in found:
            place = tmp_path_factory.mktemp(protection.replace(",", "-"))
            server = KerberizedMetastore(place, realm, keytab=keytab, client=client, protection=protection)
            found[protection] = server
            server.start()
        return found[protection]

    yield start
    for server in found.values():
        server.stop()


@pytest.fixture(scope="module")
def server(servers: Start) -> KerberizedMetastore:
    return servers()


def refusal(where: str, settings: KerberosSettings) -> str:
    """Why there is no connection, in one line with what to do."""
    unavailable = pytest.raises(MetastoreUnavailable)
    with Metastore(MetastoreAccess.of(where, kerberos=settings), timeout=20) as metastore, unavailable as refused:
        metastore.databases()
    text = str(refused.value)
    assert "\n" not in text
    assert refused.value.hint
    return text


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> bytearray:
    """All that goes out to servers."""
    seen = bytearray()
    send = SocketChannel.send
    monkeypatch.setattr(SocketChannel, "send", lambda self, data: (seen.extend(data), send(self, data)))
    return seen


@pytest.mark.parametrize(
    ("protection", "in_clear"),
    [("authentication", True), ("integrity", True), ("privacy", False), ("authentication,privacy", False)],
)
def test_data_is_protected_as_the_server_asks(
    *, protection: str, in_clear: bool, servers: Start, client: KerberosSettings, sent: bytearray, tmp_path: Path
) -> None:
    """The strongest that it offers; and a target works through it, in messages longer than a frame."""
    server = servers(protection)
    target = hms_target(HmsSettings(name="dr", kind="hms", metastore=server.uri, kerberos=client))
    source, name = Source(), TableName("wrapped", "t")
    owner = table(name, f"file:{tmp_path}/t", keys=["k"], parameters={"long": "canary" * 600})
    target.apply(source.put_database("wrapped"))
    assert target.apply(source.put_table(owner)) == Outcome.APPLIED
    parts = [partition(owner, [f"{number}".zfill(100)]) for number in range(300)]
    assert target.apply(source.put_partitions(owner, *parts)) == Outcome.APPLIED
    assert len(sent) > 3 * 65536, "several frames"
    assert len(list(target.partitions(name))) == 300
    target.close()
    assert (b"canary" in sent) == in_clear


@pytest.mark.parametrize("version", RELEASES)
def test_the_released_metastores(
    *, version: str, realm: Realm, keytab: Path, client: KerberosSettings, tmp_path: Path, report: Report
) -> None:
    need(report, version)
    server = KerberizedRelease(
        release=RELEASES[version], directory=tmp_path, realm=realm, keytab=keytab, client=client, protection="privacy"
    )
    with server, Metastore(server.access) as metastore:
        assert metastore.databases() == ["default"]


def test_a_frame_that_was_changed_on_the_way_is_not_believed(servers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    receive = SocketChannel.receive

    def changed(channel: SocketChannel, size: int) -> bytes:
        data = receive(channel, size)
        return data.replace(b"default", b"defauld")

    with Metastore(servers("integrity").access) as metastore:
        assert "default" in metastore.databases()
        monkeypatch.setattr(SocketChannel, "receive", changed)
        with pytest.raises(MetastoreCallFailed, match="did not answer get_all_databases: a frame is damaged"):
            metastore.databases()


def test_host_of_the_address(server: KerberizedMetastore, client: KerberosSettings) -> None:
    by_host = client.model_copy(update={"service_principal": f"hive/_HOST@{REALM}"})
    where = f"thrift://LocalHost:{server.port}"
    with Metastore(MetastoreAccess.of(where, kerberos=by_host)) as metastore:
        assert "default" in metastore.databases()


def test_under_tls(server: KerberizedMetastore, client: KerberosSettings, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with tls_front(authority.sign("front", "127.0.0.1"), server.port) as where:
        access = MetastoreAccess.of(where, TlsSettings(ca_file=authority.file), client)
        with Metastore(access) as metastore:
            assert "default" in metastore.databases()


def test_many_at_once_share_a_login(server: KerberizedMetastore, client: KerberosSettings) -> None:
    access = MetastoreAccess.of(server.uri, kerberos=client)

    def list_databases(_: int) -> list[str]:
        with Metastore(access) as metastore:
            return metastore.databases()

    with ThreadPoolExecutor(8) as pool:
        assert all("default" in found for found in pool.map(list_databases, range(40)))


def test_the_ticket_cache_of_the_process(
    realm: Realm, server: KerberizedMetastore, client: KerberosSettings, tmp_path: Path
) -> None:
    own = KerberosSettings(service_principal=SERVICE)
    named = KerberosSettings(service_principal=SERVICE, client_principal=CLIENT)
    other = KerberosSettings(service_principal=SERVICE, client_principal=f"other@{REALM}")
    with environment(KRB5CCNAME=f"FILE:{tmp_path}/cache"):
        assert "No Kerberos credentials available" in refusal(server.uri, own)
        assert "there is no ticket: run kinit, or set keytab" in refusal(server.uri, own)
        realm.kinit(Path(str(client.keytab)), CLIENT, tmp_path / "cache", "-l", "5s")
        for settings in (own, named):
            with Metastore(MetastoreAccess.of(server.uri, kerberos=settings)) as metastore:
                assert "default" in metastore.databases()
        assert f"other@{REALM}" in refusal(server.uri, other)
        time.sleep(6)
        assert "Ticket expired; the ticket has expired: run kinit, or set keytab" in refusal(server.uri, own)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"service_principal": f"hive/nowhere@{REALM}"}, ["hive/nowhere", "not found in Kerberos database"]),
        ({"service_principal": "hive/localhost@OTHER.TEST"}, ["OTHER.TEST", "not found in Kerberos database"]),
        ({"client_principal": f"nobody@{REALM}"}, ["has no key of nobody@", "klist -kt"]),
        ({"keytab": Path("/no/such/keytab")}, ["cannot read the keytab /no/such/keytab: No such file"]),
    ],
)
def test_the_wrong_settings(
    server: KerberizedMetastore, client: KerberosSettings, change: dict[str, Any], words: list[str]
) -> None:
    message = refusal(server.uri, client.model_copy(update=change))
    assert [word for word in words if word not in message] == []


def test_a_keytab_that_others_can_read(server: KerberizedMetastore, realm: Realm, client: KerberosSettings) -> None:
    file = realm.keytab(f"open@{REALM}")
    file.chmod(0o640)
    settings = client.model_copy(update={"client_principal": f"open@{REALM}", "keytab": file})
    assert refusal(server.uri, settings) == f"the keytab {file} can be read by other users; chmod 600 {file}"


def test_a_keytab_that_is_out_of_date_or_none(
    server: KerberizedMetastore, realm: Realm, client: KerberosSettings, tmp_path: Path
) -> None:
    name = f"rotated@{REALM}"
    old, new = realm.keytab(name), realm.keytab(name)
    with_old = client.model_copy(update={"client_principal": name, "keytab": old})
    assert "check that the keytab is the newest one of this principal" in refusal(server.uri, with_old)
    with Metastore(MetastoreAccess.of(server.uri, kerberos=with_old.model_copy(update={"keytab": new}))) as metastore:
        assert "default" in metastore.databases()
    junk = tmp_path / "junk"
    junk.touch(mode=0o600)
    assert f"the keytab {junk} has no key" in refusal(server.uri, with_old.model_copy(update={"keytab": junk}))


def test_a_kdc_that_is_away_and_a_realm_that_nobody_knows(
    server: KerberizedMetastore, realm: Realm, client: KerberosSettings, tmp_path: Path
) -> None:
    with environment(KRB5_CONFIG=realm.away()):
        assert "check that the KDC in krb5.conf is running" in refusal(server.uri, client)
    with environment(KRB5_CONFIG=tmp_path / "none"):
        assert "krb5.conf must name the realm and its KDC" in refusal(server.uri, client)


def test_a_server_that_is_somebody_else(server: KerberizedMetastore, realm: Realm, client: KerberosSettings) -> None:
    """As one whose keytab is not that of its principal."""
    realm.keytab(f"web/localhost@{REALM}")
    message = refusal(server.uri, client.model_copy(update={"service_principal": f"web/localhost@{REALM}"}))
    assert f"the metastore at {server.uri} refuses the Kerberos login: GSS initiate failed" in message


def test_a_server_that_asks_for_none(shared_metastore: EmbeddedMetastore, client: KerberosSettings) -> None:
    message = refusal(shared_metastore.uri, client)
    assert "remove kerberos if its hive.metastore.sasl.enabled is not true" in message


def test_no_login_where_one_is_asked_for(server: KerberizedMetastore) -> None:
    """HMS hangs up without a word."""
    with (
        Metastore(server.uri) as metastore,
        pytest.raises(MetastoreCallFailed, match="may need tls, a client certificate, a login"),
    ):
        metastore.databases()


@pytest.mark.skipif(shutil.which("faketime") is None, reason="no faketime here: apt-get install faketime")
def test_a_clock_that_is_wrong(
    server: KerberizedMetastore, realm: Realm, client: KerberosSettings, tmp_path: Path
) -> None:
    file = configuration(tmp_path, server, client)
    with environment(KRB5_CONFIG=realm.strict()):
        command = ["faketime", "-f", "+1h", sys.executable, "-m", "pysync", "check", "-c", str(file), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    details = {item["what"]: item["detail"] for item in json.loads(done.stdout)}
    assert done.returncode == 1
    assert "Clock skew too great" in details["target dr"]
    assert "synchronize the clocks of this host" in details["target dr"]


def test_source_and_target_in_the_configuration(
    server: KerberizedMetastore, client: KerberosSettings, tmp_path: Path
) -> None:
    done = pysync("check", "-c", configuration(tmp_path, server, client), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {item["what"] for item in json.loads(done.stdout)} >= {"source metastore", "target dr"}


def test_nothing_is_parked_for_any_of_it(server: KerberizedMetastore, client: KerberosSettings) -> None:
    wrong = client.model_copy(update={"service_principal": f"hive/nowhere@{REALM}"})
    target = hms_target(HmsSettings(name="dr", kind="hms", metastore=server.uri, kerberos=wrong))
    with pytest.raises(Unavailable):
        target.apply(Source().put_database("never"))
    target.close()


@pytest.mark.timeout(600)
def test_a_stream_of_ddl_goes_on_over_renewals_and_an_outage_of_the_kdc(
    realm: Realm, keytab: Path, client: KerberosSettings, tmp_path: Path
) -> None:
    """For three lives of a ticket; the KDC is away for more than one of them."""
    target = partial(KerberizedMetastore, realm=realm, keytab=keytab, client=client, protection="privacy")
    options = f"retry_max_seconds = 1.0\n[targets.kerberos]\n{lines(client)}"
    with Stage(tmp_path, target=target, options=options) as stage:
        stage.start_target()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as metastore:
            database = new_database(metastore)
            sent = stream(metastore, database, 0, LIFE * 1.5)
            settled(stage)
            realm.stop()
            try:
                sent = stream(metastore, database, sent, LIFE * 1.2)
                wait_until(lambda: of_target(stage)["state"] == "waiting", seconds=60, what="the target's waiting")
                assert "check that the KDC in krb5.conf is running" in of_target(stage)["last_error"]["reason"]
            finally:
                realm.start()
            sent = stream(metastore, database, sent, LIFE * 0.5)
            settled(stage)
            with Metastore(stage.target.access) as replica:
                assert len(replica.tables(database)) == sent == len(metastore.tables(database))
        assert of_target(stage)["parked"] == 0


def stream(metastore: Metastore, database: str, number: int, seconds: float) -> int:
    """Tables, one after the other, for so long; returns the number of the last."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        number += 1
        name = f"t{number}"
        metastore.call(lambda client, name=name: client.create_table(plain_table(database, name)))
        time.sleep(0.2)
    return number


def settled(stage: Stage) -> None:
    wait_until(lambda: of_target(stage)["queued"] == 0, seconds=60, what="the target has it all")


def of_target(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = stage.status()["targets"][0]
    return found


def lines(settings: KerberosSettings) -> str:
    return "".join(f'{key} = "{value}"\n' for key, value in settings.model_dump().items())


def configuration(directory: Path, server: EmbeddedMetastore, client: KerberosSettings) -> Path:
    """The server is source and target."""
    token = directory / "token"
    token.write_text("a-token-of-some-length")
    token.chmod(0o600)
    file = directory / "pysync.toml"
    file.write_text(f"""
[source]
name = "onprem"
metastore = "{server.uri}"
[source.kerberos]
{lines(client)}
[bridge]
port = 0
token_file = "{token}"
[queue]
directory = "{directory}/queue"
[[targets]]
name = "dr"
kind = "hms"
metastore = "{server.uri}"
[targets.kerberos]
{lines(client)}""")
    return file
