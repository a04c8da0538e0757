"""No table waits for another: a small one is changed at a target while a big one is on its way, on real servers."""

from __future__ import annotations

from contextlib import closing

import pytest

from pysync.metastore.client import Metastore
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench.histories import History
from tests.support import wait_until
from tests.support.events import append

PARTITIONS = 1500
SECONDS = 300.0


@pytest.mark.crash
def test_a_small_table_is_changed_while_the_partitions_of_a_big_one_are_on_their_way(metastores, tmp_path):
    """As 17 s were seen to pass before: the next window waited for the whole last one."""
    server, kind = metastores(), target_kind("hms")
    settings = kind.settings.model_validate(
        {"name": "dr", "kind": "hms", "metastore": server.uri, "window": PARTITIONS // 3}
    )
    history = History("db", f"file:{server.warehouse}")
    big, small = history.table("big"), history.table("small")
    with (
        EventQueue(tmp_path / "queue", min_free_bytes=0) as queue,
        closing(Metastore(server.uri)) as metastore,
    ):
        drain = Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings))
        append(queue, history.begin(), history.create(big), history.create(small))
        drain.start()
        wait_until(lambda: queue.target("dr").depth().queued == 0, seconds=SECONDS, what="the tables")
        append(queue, *history.ingest([big], PARTITIONS), history.alter(small, "changed"))

        def is_changed() -> bool:
            return metastore.table("db", "small").parameters.get("note") == "changed"

        wait_until(is_changed, seconds=SECONDS, what="the small table's change")
        assert queue.target("dr").depth().queued > 1, "the small table waited for the big one"
        assert len(metastore.partition_names("db", "big")) < PARTITIONS
        wait_until(lambda: queue.target("dr").depth().queued == 0, seconds=SECONDS, what="the big table")
        assert len(metastore.partition_names("db", "big")) == PARTITIONS
        assert queue.target("dr").parked.events() == []
        drain.stop()
        assert drain.join(60)
