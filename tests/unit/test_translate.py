"""Translate: what one queued event means to one target."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from pysync.base.errors import UsageError
from pysync.model.event import USER, Event, Kind
from pysync.model.wire import UnreadableEvent, UnsupportedEvent, encode_event
from pysync.replay.window.translate import Translator
from tests.support.events import create_table, event, one_of_each_kind, rename_table, settings

EACH = one_of_each_kind()


def translate(item: Event, **values):
    return Translator.of(settings(**values)).translate(encode_event(item), 7)


@pytest.mark.parametrize("kind", EACH)
def test_every_kind_that_can_be_replayed_is_a_change_at_its_position(kind):
    found = translate(event(kind, **EACH[kind]))
    assert (found.kind, found.position) == (kind, 7)


def test_changes_of_another_catalog_are_left_out_and_told_of_once():
    translator = Translator.of(settings())
    data = encode_event(create_table("db.t", catalog="spark"))
    with capture_logs() as said:
        assert [translator.translate(data, position) for position in (1, 2)] == [None, None]
    assert [(line["catalog"], line["target"]) for line in said] == [("spark", "dr")]
    assert translate(create_table("db.t", catalog="HIVE")) is not None


def test_a_drop_of_a_database_touches_all_that_is_in_it():
    assert translate(event(Kind.DROP_DATABASE, **EACH[Kind.DROP_DATABASE])).keys == {"db.*"}


def test_a_rename_touches_both_names():
    assert translate(rename_table("db.old", "db.new")).keys == {"db.old", "db.new"}


def test_a_foreign_key_touches_both_tables():
    assert translate(event(Kind.ADD_FOREIGNKEY, **EACH[Kind.ADD_FOREIGNKEY])).keys == {"db.p", "db.t"}


def test_the_keys_are_the_names_at_the_target():
    found = translate(rename_table("db.old", "db.new"), databases={"db": "copy"}, tables={"db.new": "x.y"})
    assert found.keys == {"copy.old", "x.y"}


def test_the_policy_speaks_of_names_at_the_source():
    kept = translate(create_table("db.t"), include=["db"], databases={"db": "copy"})
    assert kept.keys == {"copy.t"}
    assert translate(create_table("db.t"), include=["copy"], databases={"db": "copy"}) is None


@pytest.mark.parametrize(("include", "kind"), [("db.old", Kind.DROP_TABLE), ("db.new", Kind.CREATE_TABLE)])
def test_a_rename_over_the_border_of_the_scope_is_a_drop_or_a_create(include, kind):
    found = translate(rename_table("db.old", "db.new"), include=[include])
    assert (found.keys, found.kind) == ({include}, kind)


@pytest.mark.parametrize(
    "item",
    [
        event(Kind.CREATE_CATALOG),
        create_table("db.t", catalog="spark"),
    ],
    ids=["catalog", "other catalog"],
)
def test_what_needs_nothing_at_the_target_concerns_it_not(item):
    assert translate(item) is None


def test_an_insert_of_hive_2_which_names_its_table_only_is_about_that():
    item = event(Kind.INSERT, attributes={"database": "db", "table": "t"})
    assert translate(item, databases={"db": "copy"}).keys == {"copy.t"}


def test_the_same_bytes_translate_alike_again():
    """A rewrite alters objects in place: it must never be the queue's, or the next try's."""
    translator = Translator.of(settings(databases={"db": "copy"}, tables={"copy.t": "no.no"}))
    data = encode_event(create_table("db.t"))
    assert translator.translate(data, 7) == translator.translate(data, 7)


def test_bytes_that_are_no_event_are_refused():
    translator = Translator.of(settings())
    with pytest.raises(UnreadableEvent):
        translator.translate(b"\x00\x01", 7)
    with pytest.raises(UnsupportedEvent):
        translator.translate(encode_event(create_table("db.t")).replace(b"CREATE_TABLE", b"CREATE_LABEL"), 7)


@pytest.mark.parametrize(
    "wrong", [{"include": ["a.b.c"]}, {"policy": "a.b.c"}, {"tables": {"a": "b"}}], ids=["pattern", "policy", "rename"]
)
def test_a_wrong_setting_is_found_before_anything_is_translated(wrong):
    with pytest.raises(UsageError):
        Translator.of(settings(**wrong))


def test_a_user_who_is_known_to_write_for_a_cluster_is_taken_for_it():
    """So its calls that carry nothing are not sent back, and neither is what the same cluster's own users bring."""
    data = encode_event(create_table("db.t", attributes={USER: "svc-dr", "thread": "1"}))
    other = encode_event(create_table("db.t", attributes={USER: "ann"}))
    assert Translator.of(settings()).translate(data, 7).event.visited == ("onprem",)
    knowing = Translator.of(settings(), {"svc-dr": "dr", "svc-far": "far"})
    assert knowing.translate(data, 7) is None
    assert knowing.translate(other, 7).event.visited == ("onprem",)
    elsewhere = Translator.of(settings(name="third"), {"svc-dr": "dr"})
    assert elsewhere.translate(data, 7).event.visited == ("dr", "onprem")
