"""`python -m tests.bench.backlog DIRECTORY`: drain the queue there into a target that does nothing; prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from pysync import logs
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.translate import Translator
from pysync.sidecar.tuning import collect_seldom
from pysync.targets.kinds import target_kind


def main(directory: Path) -> dict[str, float]:
    """The rate in events a second, and the peak memory of this process in MiB."""
    kind = target_kind("faulty")
    settings = kind.settings.model_validate({"name": "target", "kind": "faulty", "remember": False})
    with EventQueue(directory, min_free_bytes=0) as queue:
        queue.target("target").register()
        queued = queue.target("target").depth().queued
        drain = Drain(queue, settings, Translator.of(settings), lambda: kind.open(settings))
        began = time.perf_counter()
        drain.start()
        while queue.target("target").depth().queued:
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        drain.stop()
        drain.join(60)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"events": queued, "rate": queued / seconds, "rss_mb": peak}


if __name__ == "__main__":
    logs.configure("error", "console")
    collect_seldom()
    print(json.dumps(main(Path(sys.argv[1]))))
