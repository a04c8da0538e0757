"""The request that has an object read anew, on a real metastore: sent by two at once, it leaves nothing behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.mark import Mark
from pysync.model.operation import RequestReread
from pysync.model.reread import PLACE, RereadRequest
from pysync.targets.base import Outcome
from pysync.targets.hms import HmsSettings, hms_target

TIMES = 5


def _send(uri: str, speaker: str) -> list[Outcome]:
    settings = {"name": "west", "kind": "hms", "metastore": uri, "both_ways": True}
    request = RequestReread(database="shop", table="items", home="west", mark=Mark(speaker, 1, 1), visited=(speaker,))
    with closing(hms_target(HmsSettings.model_validate(settings))) as target:
        return [target.apply(request) for _ in range(TIMES)]


def test_two_send_the_same_at_once_and_what_a_crash_has_left_goes(tmp_path: Path) -> None:
    with EmbeddedMetastore(tmp_path / "hms") as server, Metastore(server.uri) as hms:
        left = RereadRequest("shop", "gone").as_function("north")
        hms.call(lambda client: client.create_function(left))
        with ThreadPoolExecutor() as pool:
            reported = list(pool.map(lambda speaker: _send(server.uri, speaker), ("east", "north")))
        assert reported == [[Outcome.CONFLICT] * TIMES] * 2
        assert hms.call(lambda client: client.get_functions(PLACE, "*")) == []
