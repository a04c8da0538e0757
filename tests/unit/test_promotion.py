"""What a promotion hands over: what the promoted target has written, and nothing of others beside it."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

from pysync.jobs import promoting
from pysync.jobs.promoting import HandedOver, Promotion
from pysync.lab.memory.store import MemoryStore
from pysync.lab.memory.target import MemoryMetastore
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.hms.connections import Connections
from pysync.targets.hms.store import HmsStore
from tests.support import table
from tests.support.events import database

CONF = """
[source]
name = "onprem"
metastore = "thrift://a:1"
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://b:1"
include = ["db"]
[[targets]]
name = "archive"
kind = "hms"
metastore = "thrift://b:1"
include = ["db"]
databases = { db = "archive" }
"""


class Store:
    """A metastore whose tables are in the database `db`; `written` are the names of those that were altered."""

    def __init__(self, **marks):
        self.held = {}
        for name, mark in marks.items():
            self.held[name] = table("db", name)
            self.held[name].parameters = {} if mark is None else mark.parameters()
        self.written = []
        self.hms = SimpleNamespace(tables_by_name=lambda _, names: [self.held[it] for it in names])
        self.classified = lambda _: nullcontext()
        self.close = lambda: None

    def databases(self):
        return ["db"]

    def database(self, _):
        return None

    def table_names(self, _):
        return sorted(self.held)

    def table(self, name: TableName):
        return self.held.get(name.table)

    def write_table(self, wanted, existing):
        self.held[existing.tableName] = wanted
        self.written.append(existing.tableName)


def mark(name, *, source="onprem", target="dr"):
    return Mark(source, 1, 5, object=f"db.{name}", target=target)


def test_objects_of_another_target_of_another_source_and_of_people_stay(tmp_path, monkeypatch):
    (tmp_path / "pysync.toml").write_text(CONF)
    source = Store(ours=None, archived=None, theirs=None, mine=None, renamed=None, relayed=mark("x", source="third"))
    target = Store(
        ours=mark("ours"),
        renamed=mark("renamed", target="as_it_was_called"),
        archived=mark("archived", target="archive"),
        theirs=mark("theirs", source="elsewhere"),
        relayed=mark("relayed"),
        gone=mark("gone"),
        mine=None,
    )
    stores = {"onprem": source, "dr": target}
    monkeypatch.setattr(promoting, "hms_store", lambda settings: stores[settings.name])
    promotion = Promotion.of(tmp_path / "pysync.toml", "dr")
    expected = HandedOver(tables=2, only_at_target=1, of_others=1)
    assert promotion.hand_over(lambda *_: None, dry_run=True) == expected
    assert (source.written, target.written) == ([], [])
    assert promotion.hand_over(lambda *_: None) == expected
    assert (source.written, target.written) == (["ours", "renamed"], ["gone", "ours", "renamed"])
    assert Mark.read(source.held["ours"].parameters) == Mark("dr", 0, 0, object="db.ours", target="onprem")
    assert promotion.hand_over(lambda *_: None) == HandedOver(of_others=1), "the second time nothing is left"


LEFT = """
[source]
name = "onprem"
metastore = "thrift://a:1"
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://b:1"
include = ["sales", "crm"]
exclude = ["sales.secret_*", "crm"]
include_types = ["EXTERNAL_TABLE"]
databases = { sales = "dr_sales", crm = "dr_crm" }
"""


def place(databases, names, *, marks=None):
    """A metastore with databases and tables; `marks` gives for each its name at the source and the target's name."""
    held = MemoryStore()
    with MemoryMetastore(held) as metastore:
        for name in databases:
            item = marked(database(name), name, marks)
            metastore.call(lambda client, it=item: client.create_database(it))
        for name in names:
            item = marked(table(*name.split(".")), name, marks)
            metastore.call(lambda client, it=item: client.create_table(it))
    return held


def marked(item, name, marks):
    if marks is not None:
        of, target = marks[name]
        item.parameters = Mark("onprem", 1, 5, object=of, target=target).on(item.parameters)
    return item


def marks_in(held, names):
    """What the marks of tables say: the cluster and the object."""
    with MemoryMetastore(held) as metastore:
        read = {it: Mark.read(metastore.table(*it.split(".")).parameters) for it in names}
    return {name: None if mark is None else (mark.source, mark.object) for name, mark in read.items()}


def test_what_is_out_of_scope_and_what_removed_targets_have_left_stays(tmp_path, monkeypatch):
    (tmp_path / "pysync.toml").write_text(LEFT)
    tables = ["sales.t1", "sales.t2", "sales.t3", "sales.secret_1", "sales.managed", "crm.c1"]
    source = place(["sales", "crm"], tables)
    managed = source.table("sales", "managed").struct
    managed.tableType, managed.parameters = "MANAGED_TABLE", {}
    marks = {
        "dr_sales": ("sales", "dr"),
        "dr_sales.t1": ("sales.t1", "dr"),
        "dr_sales.t2": ("sales.t2", "as_it_was_called"),
        "dr_sales.gone": ("sales.gone", "dr"),
        "dr_sales.secret_1": ("sales.secret_1", "dr"),  # written before `exclude` had it
        "dr_sales.managed": ("sales.managed", "dr"),  # its definition has left the scope
        "dr_sales.old_t3": ("sales.t3", "dr"),  # an older setting of the names
        "dr_crm": ("crm", "dr"),
        "dr_crm.c1": ("crm.c1", "dr"),
        "zz_sales": ("sales", "removed"),
        "zz_sales.t3": ("sales.t3", "removed"),
        "sales": ("sales", "removed"),
        "sales.t1": ("sales.t1", "removed"),
    }
    replicas = [name for name in marks if "." in name]
    target = place([name for name in marks if "." not in name], replicas, marks=marks)
    stores = {"onprem": source, "dr": target}
    monkeypatch.setattr(promoting, "hms_store", lambda settings: memory_store(settings, stores[settings.name]))
    promotion = Promotion.of(tmp_path / "pysync.toml", "dr")
    before = marks_in(target, replicas)

    expected = HandedOver(databases=1, tables=2, only_at_target=1)
    assert promotion.hand_over(lambda *_: None, dry_run=True) == expected
    assert promotion.hand_over(lambda *_: None) == expected
    assert marks_in(source, tables) == {
        **dict.fromkeys(tables),
        "sales.t1": ("dr", "dr_sales.t1"),
        "sales.t2": ("dr", "dr_sales.t2"),
    }
    handed_over = dict.fromkeys(["dr_sales.t1", "dr_sales.t2", "dr_sales.gone"])
    assert marks_in(target, replicas) == before | handed_over


def memory_store(settings, held):
    return HmsStore(settings, Connections(settings, partial(MemoryMetastore, held)), settings.name)
