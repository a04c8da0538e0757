"""What a promotion hands over: what the promoted target has written, and nothing of others beside it."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

from pysync.jobs import promoting
from pysync.jobs.promoting import HandedOver, Promotion
from pysync.model.mark import Mark
from pysync.model.names import TableName
from tests.support import table

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
