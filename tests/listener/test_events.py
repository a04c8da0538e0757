"""What Hive 2.3 tells its listeners arrives at the bridge, in the bytes of docs/wire-format.md."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import time
import uuid
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from tests.listener.driver import Place
from tests.listener.stand import COPY_JAR, TOKEN, Event, Stand, decode, listening_ports
from tests.support import partition, table
from tests.support.listener_java import build

pytestmark = pytest.mark.smoke

OVERRIDES = {"pysync.synchronous": "true"}
"""So that an event is there when the call returns."""


@pytest.fixture
def database(stand: Stand) -> str:
    name = f"db_{uuid.uuid4().hex[:12]}"
    stand.create(name)
    return name


def parted(stand: Stand, database: str, name: str) -> Any:
    stand.call(lambda client: client.create_table(table(database, name, partition_keys=[("day", "string")])))
    return stand.call(lambda client: client.get_table(database, name))


def only(events: list[Event], kind: str) -> Event:
    """The one event of a kind."""
    (event,) = [event for event in events if event.kind == kind]
    return event


def attributes_of(event: Event) -> dict[str, str]:
    """The attributes of its kind: without the thread and the user, which every event has."""
    attributes = dict(event.attributes)
    assert int(attributes.pop("thread")) > 0
    assert attributes.pop("user") == getpass.getuser()  # nobody logged in: the metastore's own
    return attributes


def test_envelope(stand: Stand, database: str) -> None:
    event = only(stand.bridge.named(database), "CREATE_DATABASE")
    assert event.version == 1
    assert event.source == "onprem"
    assert uuid.UUID(event.instance)
    assert abs(event.time_ms / 1000 - time.time()) < 60
    assert (event.notification_id, event.catalog, event.table) == (None, None, None)
    assert (event.environment, attributes_of(event)) == ({}, {})


def test_database(stand: Stand, database: str) -> None:
    stand.call(lambda client: client.drop_database(database, True, False))
    created, dropped = stand.bridge.named(database)
    assert (created.kind, dropped.kind) == ("CREATE_DATABASE", "DROP_DATABASE")
    assert decode(ttypes.Database, created.after[0]).name == database
    assert decode(ttypes.Database, dropped.before[0]).name == database
    assert (created.before, dropped.after) == ([], [])


def test_table(stand: Stand, database: str) -> None:
    stand.call(lambda client: client.create_table(table(database, "orders", parameters={"note": "Grüße\n\0🚀"})))
    changed = stand.call(lambda client: client.get_table(database, "orders"))
    changed.sd.cols.append(ttypes.FieldSchema("amount", "double", None))
    context = ttypes.EnvironmentContext({"CASCADE": "true"})
    stand.call(lambda client: client.alter_table_with_environment_context(database, "orders", changed, context))
    stand.call(lambda client: client.drop_table(database, "orders", False))

    created, altered, dropped = stand.bridge.named("orders")
    assert [created.kind, altered.kind, dropped.kind] == ["CREATE_TABLE", "ALTER_TABLE", "DROP_TABLE"]
    new = decode(ttypes.Table, created.after[0])
    assert (new.dbName, new.tableName, new.parameters["note"]) == (database, "orders", "Grüße\n\0🚀")
    before, after = decode(ttypes.Table, altered.before[0]), decode(ttypes.Table, altered.after[0])
    assert [[column.name for column in of.sd.cols] for of in (before, after)] == [["id"], ["id", "amount"]]
    assert altered.environment == {"CASCADE": "true"}
    assert "truncate" not in altered.attributes
    assert decode(ttypes.Table, dropped.before[0]).tableName == "orders"
    assert attributes_of(dropped) == {"delete_data": "false"}


def test_rename_is_one_alter(stand: Stand, database: str) -> None:
    stand.call(lambda client: client.create_table(table(database, "was")))
    renamed = stand.call(lambda client: client.get_table(database, "was"))
    renamed.tableName = "became"
    stand.call(lambda client: client.alter_table(database, "was", renamed))
    event = only(stand.bridge.named("became"), "ALTER_TABLE")
    assert decode(ttypes.Table, event.before[0]).tableName == "was"
    assert decode(ttypes.Table, event.after[0]).tableName == "became"


def test_partitions(stand: Stand, database: str) -> None:
    of = parted(stand, database, "visits")
    days = [partition(of, [day]) for day in ("mon", "tue", "wed")]
    stand.call(lambda client: client.add_partitions(days))
    changed = stand.call(lambda client: client.get_partition(database, "visits", ["tue"]))
    changed.parameters["seen"] = "yes"
    stand.call(lambda client: client.alter_partition(database, "visits", changed))
    stand.call(lambda client: client.drop_partition(database, "visits", ["wed"], True))

    _, added, altered, dropped = stand.bridge.named("visits")
    assert [event.kind for event in (added, altered, dropped)] == [
        "ADD_PARTITION",
        "ALTER_PARTITION",
        "DROP_PARTITION",
    ]
    for event in (added, altered, dropped):
        assert decode(ttypes.Table, event.table).tableName == "visits"
    assert [decode(ttypes.Partition, one).values for one in added.after] == [["mon"], ["tue"], ["wed"]]
    assert "seen" not in decode(ttypes.Partition, altered.before[0]).parameters
    assert decode(ttypes.Partition, altered.after[0]).parameters["seen"] == "yes"
    assert [decode(ttypes.Partition, one).values for one in dropped.before] == [["wed"]]
    assert attributes_of(dropped) == {"delete_data": "true"}


def test_insert(stand: Stand, database: str) -> None:
    of = parted(stand, database, "loads")
    stand.call(lambda client: client.add_partition(partition(of, ["mon"])))
    data = ttypes.FireEventRequestData(ttypes.InsertEventRequestData(filesAdded=["file:/a"]))
    request = ttypes.FireEventRequest(True, data, database, "loads", ["mon"])
    stand.call(lambda client: client.fire_listener_event(request))
    event = only(stand.bridge.named("loads"), "INSERT")
    assert attributes_of(event) == {"database": database, "table": "loads", "partition.day": "mon"}
    assert (event.table, event.before, event.after) == (None, [], [])


def test_function(stand: Stand, database: str) -> None:
    function = ttypes.Function(
        functionName="twice",
        dbName=database,
        className="org.example.Twice",
        ownerName="me",
        ownerType=1,
        createTime=0,
        functionType=1,
        resourceUris=[ttypes.ResourceUri(1, "file:/twice.jar")],
    )
    stand.call(lambda client: client.create_function(function))
    stand.call(lambda client: client.drop_function(database, "twice"))
    created, dropped = stand.bridge.named("twice")
    assert (created.kind, dropped.kind) == ("CREATE_FUNCTION", "DROP_FUNCTION")
    assert decode(ttypes.Function, created.after[0]).resourceUris[0].uri == "file:/twice.jar"
    assert decode(ttypes.Function, dropped.before[0]).className == "org.example.Twice"


def test_tables_of_a_cascade_are_not_committed_yet(stand: Stand, database: str) -> None:
    stand.call(lambda client: client.create_table(table(database, "inner_one")))
    stand.call(lambda client: client.drop_database(database, True, True))
    assert attributes_of(only(stand.bridge.named("inner_one"), "DROP_TABLE")) == {
        "delete_data": "false",
        "uncommitted": "true",
    }
    assert "uncommitted" not in only(stand.bridge.named(database), "DROP_DATABASE").attributes


@pytest.mark.parametrize(
    "call",
    [
        lambda client, name: client.create_database(ttypes.Database(name=name)),
        lambda client, name: client.create_table(table("nowhere_" + name, name)),
        lambda client, name: client.drop_table(name, "absent", True),
        lambda client, name: client.drop_partition(name, "absent", ["1"], True),
        lambda client, name: client.drop_function(name, "absent"),
        lambda client, name: client.drop_database("absent_" + name, True, True),
    ],
)
def test_what_failed_is_not_forwarded(stand: Stand, database: str, call: Callable[[Any, str], Any]) -> None:
    seen = len(stand.bridge.events)
    with pytest.raises(ttypes.TException):
        stand.call(lambda client: call(client, database))
    stand.create(database + "_after")
    (event,) = stand.bridge.events[seen:]
    assert event.kind == "CREATE_DATABASE"


def test_sequence_has_no_gap(stand: Stand) -> None:
    before = len(stand.bridge.events)
    names = [[f"t{worker}_{step}" for step in range(10)] for worker in range(8)]
    stand.create("many")

    def work(mine: list[str]) -> None:
        with stand.metastore as metastore:
            for name in mine:
                metastore.call(lambda client, name=name: client.create_table(table("many", name)))

    with ThreadPoolExecutor(len(names)) as workers:
        list(workers.map(work, names))
    events = stand.bridge.events[before:]
    assert len({event.instance for event in events}) == 1
    numbers = sorted(event.sequence for event in events)
    assert numbers == list(range(numbers[0], numbers[0] + 1 + 80))
    created = [decode(ttypes.Table, event.after[0]).tableName for event in events if event.kind == "CREATE_TABLE"]
    for mine in names:
        assert [name for name in created if name in mine] == mine


def test_a_large_object(stand: Stand, database: str) -> None:
    wide = table(database, "wide", parameters={"note": "x" * 200})
    wide.sd.cols = [ttypes.FieldSchema(f"column_{number}", "string", "y" * 200) for number in range(3000)]
    stand.call(lambda client: client.create_table(wide))
    event = only(stand.bridge.named("wide"), "CREATE_TABLE")
    assert len(decode(ttypes.Table, event.after[0]).sd.cols) == 3000


def test_nothing_but_the_metastore_listens(stand: Stand, database: str) -> None:
    assert database
    assert listening_ports(stand.server.pid) == {stand.server.port}


def test_no_thread_keeps_the_jvm_alive(stand: Stand, database: str) -> None:
    assert database
    dump = subprocess.run(["jcmd", str(stand.server.pid), "Thread.print"], capture_output=True, text=True, check=True)
    ours = [line for line in dump.stdout.splitlines() if line.startswith('"pysync-')]
    assert ours
    assert all(" daemon " in line for line in ours)


def test_no_secret_and_no_payload_in_the_log(stand: Stand, database: str) -> None:
    text = stand.server.log_file.read_text()
    assert TOKEN not in text
    assert "CB command" not in text  # how py4j begins a payload
    assert not [line for line in stand.log_lines() if database in line]


def classes_of(jar: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(jar) as packed:
        return {name: packed.read(name) for name in packed.namelist() if name.endswith(".class")}


def test_every_class_is_of_java_8_and_none_is_a_stub(jar: Path) -> None:
    classes, copies = classes_of(jar), classes_of(COPY_JAR)
    py4js = {name: data for name, data in classes.items() if name.startswith("org/pysync/py4j/")}
    ours = {name: data for name, data in classes.items() if name not in py4js}
    assert {int.from_bytes(data[6:8], "big") for data in [*ours.values(), *copies.values()]} == {52}
    assert max(int.from_bytes(data[6:8], "big") for data in py4js.values()) <= 52
    assert {name.rpartition("/")[0] for name in ours} == {"org/pysync/listener"}
    assert {name.rpartition("/")[0] for name in copies} == {"org/pysync/copy"}
    assert {name.rpartition("/")[2] for name in py4js} == {f"{name}.class" for name in build.PY4J_CLASSES}


def test_no_class_of_the_jar_names_a_py4j_that_is_not_ours(jar: Path) -> None:
    """Else it would be run, in a metastore that has one: its gateway lets the caller run Java."""
    with zipfile.ZipFile(jar) as packed:
        for name in packed.namelist():
            if name.endswith(".class"):
                assert b"py4j/" not in packed.read(name).replace(b"org/pysync/py4j/", b""), name


def test_the_py4j_classes_of_the_jar_are_enough(place: Place, jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pyspark's own py4j comes later on this class path, and is left alone.
    classes = place.directory / "classes.log"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-Xlog:class+load:file={classes}:none:filecount=0 -Xverify:all")
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    driver.create("one")
    place.wait_for_count(1)
    loaded = [line.split() for line in classes.read_text().splitlines() if "py4j" in line.split()[0]]
    assert loaded
    assert {words[0].rpartition(".")[0] for words in loaded} == {"org.pysync.py4j"}
    assert {words[-1] for words in loaded} == {f"file:{jar}"}


def test_another_py4j_of_the_metastore_is_left_alone(place: Place, tmp_path: Path) -> None:
    """One that comes first, and of which no class can be loaded."""
    place.classes = shutil.copytree(place.classes, tmp_path / "classes")
    (place.classes / "py4j").mkdir()
    for name in build.PY4J_CLASSES:
        (place.classes / "py4j" / f"{name}.class").write_bytes(b"no class file")
    place.bridge.start()
    place.driver().create("one")
    place.wait_for_count(1)


def test_where_hadoop_tells_no_user_the_event_comes_without_one(place: Place, tmp_path: Path) -> None:
    broken = shutil.copytree(place.classes, tmp_path / "classes")
    (broken / "core-site.xml").write_text(
        "<configuration><property><name>hadoop.security.authentication</name><value>no such thing</value></property>"
        "</configuration>"
    )
    place.bridge.start()
    runs = ((broken, {"thread"}), (place.classes, {"thread", "user"}))
    for count, (classes, reported) in enumerate(runs, start=1):
        place.classes = classes
        place.driver().create("one")
        place.wait_for_count(count)
        assert set(place.bridge.events[-1].attributes) == reported


def test_one_connection_is_one_thread(stand: Stand) -> None:
    """A Hive client's connection keeps its thread in the metastore, and with it the order of its events."""
    names = [f"thread_{uuid.uuid4().hex[:12]}" for _ in range(6)]
    threads: list[set[str]] = []
    for mine in (names[:3], names[3:]):
        with stand.metastore as metastore:
            for name in mine:
                metastore.call(lambda client, name=name: client.create_database(ttypes.Database(name=name)))
            threads.append({event.attributes["thread"] for name in mine for event in stand.bridge.named(name)})
    assert [len(one) for one in threads] == [1, 1], threads


def test_whose_call_it_was(stand: Stand, database: str) -> None:
    """Also of those calls that take no EnvironmentContext along."""
    me, name, visits = "pysync-east,west", f"of_{uuid.uuid4().hex[:12]}", f"visits_{uuid.uuid4().hex[:12]}"
    of = parted(stand, database, visits)
    function = ttypes.Function(name, database, "C", "me", ttypes.PrincipalType.USER, 0, ttypes.FunctionType.JAVA, [])
    calls: list[Callable[[Any], Any]] = [
        lambda client: client.create_function(function),
        lambda client: client.drop_function(database, name),
        lambda client: client.add_partitions_req(
            ttypes.AddPartitionsRequest(database, visits, [partition(of, ["mon"])], True)
        ),
        lambda client: client.create_database(ttypes.Database(name=name)),
        lambda client: client.drop_database(name, True, False),
    ]
    with stand.metastore as metastore:
        metastore.call(lambda client: client.set_ugi(me, []))
        for call in calls:
            metastore.call(call)
    stand.call(lambda client: client.create_database(ttypes.Database(name=name + "_other")))
    found = [*stand.bridge.named(name), *stand.bridge.named(visits), *stand.bridge.named(name + "_other")]
    assert [(event.kind, event.attributes["user"]) for event in found] == [
        ("CREATE_FUNCTION", me),
        ("DROP_FUNCTION", me),
        ("CREATE_DATABASE", me),
        ("DROP_DATABASE", me),
        ("CREATE_TABLE", getpass.getuser()),
        ("ADD_PARTITION", me),
        ("CREATE_DATABASE", getpass.getuser()),
    ]


def test_partitions_that_are_all_there_already_are_an_event_about_nothing(stand: Stand, database: str) -> None:
    of = parted(stand, database, "visits")
    request = ttypes.AddPartitionsRequest(database, "visits", [partition(of, ["mon"])], True)
    for _ in range(2):
        stand.call(lambda client: client.add_partitions_req(request))
    found = [event for event in stand.bridge.named(database) if event.kind == "ADD_PARTITION"]
    assert [len(event.after) for event in found] == [1, 0]
