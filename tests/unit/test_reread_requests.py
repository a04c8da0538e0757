"""The request by which clusters have an object read anew: what it says, and who may send it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory import MemoryMetastore
from pysync.lab.memory.store import MemoryStore
from pysync.metastore.client import Metastore
from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.reread import RereadRequest, is_request_name, is_reread_request, request_of
from pysync.model.wire import UnreadableEvent, encode, encode_event
from pysync.replay.window.translate import Translator
from pysync.targets.hms import HmsSettings

SENT = RereadRequest("shop", "items", home="east", path=("north", "east"))


def event(kind: Kind, function: object, user: str = "pysync-north") -> Event:
    raw = (encode(function),)
    sides = {"before": raw} if kind is Kind.DROP_FUNCTION else {"after": raw}
    return Event(kind, "west", "i", 1, 0, attributes={"user": user}, **sides)


def test_what_is_sent_is_read() -> None:
    request = SENT.as_function("north,east")
    assert (request_of(request), request.dbName) == (SENT, "default")
    assert is_reread_request(request)


def test_a_request_that_others_have_led_to_is_sent_a_few_times_and_then_no_more() -> None:
    requests = [RereadRequest("shop", "items", home="east", chain_length=number) for number in (1, 4, 5)]
    assert [it.is_within_limit for it in requests] == [True, True, False]
    assert request_of(requests[1].as_function("north")).chain_length == 4
    assert requests[1].attributes()["chain_length"] == "4"


def test_the_requests_of_two_do_not_get_in_each_others_way() -> None:
    assert SENT.as_function("north").functionName != SENT.as_function("east").functionName


def test_its_creation_is_a_refresh_with_the_way_that_the_request_took() -> None:
    change = decode_change(event(Kind.CREATE_FUNCTION, SENT.as_function("north,east")), 7)
    assert change is not None
    assert (change.kind, str(change.table_name), change.position) == (Kind.REFRESH, "shop.items", 7)
    assert change.event.visited == ("north", "east", "west")
    assert change.event.attributes["home"] == "east"


def test_a_request_of_the_home_has_its_path_whoever_wrote_it_there() -> None:
    change = decode_change(event(Kind.CREATE_FUNCTION, RereadRequest("shop", home="west").as_function("north")), 7)
    assert change is not None
    assert change.event.visited == ("west",)


def test_its_drop_says_nothing() -> None:
    assert decode_change(event(Kind.DROP_FUNCTION, SENT.as_function("north")), 7) is None


def test_what_a_client_sends_is_ignored() -> None:
    assert decode_change(event(Kind.CREATE_FUNCTION, SENT.as_function("north"), user="ann"), 7) is None


ENDLESS = json.dumps(dict.fromkeys(("database", "table", "function", "home", "path"), "a") | {"chain_length": math.inf})


@pytest.mark.parametrize("text", ["", "{}", "[]", "1", "{", json.dumps({"database": "a"}), "[" * 100_000, ENDLESS])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    request = SENT.as_function("north")
    request.className = f"pysync.reread {text}"
    with pytest.raises(UnreadableEvent):
        decode_change(event(Kind.CREATE_FUNCTION, request), 7)


def test_a_function_with_such_a_class_is_one_all_the_same() -> None:
    made = hive.Function("f", "default", "pysync.reread {}", "ann", 1, 0, 1, [])
    change = decode_change(event(Kind.CREATE_FUNCTION, made), 7)
    assert change is not None
    assert change.kind is Kind.CREATE_FUNCTION


def test_who_lists_the_functions_does_not_see_it() -> None:
    metastore: Metastore = MemoryMetastore(MemoryStore())
    request = SENT.as_function("north")
    metastore.call(lambda client: client.create_function(request))
    assert is_request_name(request.functionName)
    assert metastore.functions("default") == []


LOST = RereadRequest("", home="east", path=("east",))


def test_a_request_without_an_object_reports_a_loss_and_compares_no_databases() -> None:
    change = decode_change(event(Kind.CREATE_FUNCTION, LOST.as_function("east")), 7)
    assert change is not None
    assert (change.reports_loss, change.refreshes_all, change.comes_alone) == (True, False, True)
    assert change.event.visited == ("east", "west")


def translator(**settings: Any) -> Translator:
    own = {"name": "east", "kind": "hms", "metastore": "thrift://h:9083", "both_ways": True}
    return Translator.of(HmsSettings.model_validate(own | settings))


@pytest.mark.parametrize(
    ("path", "settings", "found"),
    [
        (("east", "north"), {}, "east"),
        (("east",), {}, None),  # it replicates to this cluster, and has compared itself with it
        (("east", "north"), {"name": "south"}, None),
        (("east", "north"), {"name": "dr", "cluster": "east"}, "east"),
        (("east", "north"), {"relay": False}, None),
        (("east", "north"), {"both_ways": False}, None),
    ],
)
def test_who_replicates_to_the_cluster_that_lost_changes_compares_everything(
    path: tuple[str, ...], settings: dict[str, Any], found: str | None
) -> None:
    request = RereadRequest("", home="east", path=path).as_function("north")
    assert translator(**settings).lost(event(Kind.CREATE_FUNCTION, request)) == found


@pytest.mark.parametrize(
    "other",
    [
        event(Kind.CREATE_FUNCTION, SENT.as_function("north")),
        event(Kind.CREATE_FUNCTION, LOST.as_function("north"), user="ann"),
        event(Kind.DROP_FUNCTION, LOST.as_function("north")),
        event(Kind.CREATE_FUNCTION, hive.Function("f", "default", "pysync.reread {}", "ann", 1, 0, 1, [])),
        event(Kind.CREATE_FUNCTION, hive.Function("pysync_reread_1", "default", "pysync.reread {", "ann", 1, 0, 1, [])),
    ],
    ids=["of an object", "of a client", "its drop", "a function", "unreadable"],
)
def test_what_tells_of_no_loss(other: Event) -> None:
    assert translator().lost(other) is None


@pytest.mark.parametrize("settings", [{"both_ways": False}, {"relay": False}, {"name": "west"}])
def test_it_is_not_passed_on_where_nobody_needs_it(settings: dict[str, Any]) -> None:
    # From west to west: the path has it already.
    reported = encode_event(event(Kind.CREATE_FUNCTION, LOST.as_function("east")))
    assert translator(**({"name": "north"} | settings)).translate(reported, 7) is None
    assert translator(name="north").translate(reported, 7) is not None
