"""`python -m tests.bench.backlog DIRECTORY TARGET EVENTS [JOURNAL]`: drain so many events of the queue there into a
target that does nothing, with a journal in the file JOURNAL if one is named; prints JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

from pysync.base import logs
from pysync.journal import Journal
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.sections import JournalConfig
from pysync.sidecar.process import collect_seldom
from pysync.targets.kinds import target_kind


def main(directory: Path, name: str, events: int, file: Path | None) -> dict[str, float]:
    """The rate in events a second, and the peak memory of this process in MiB."""
    kind = target_kind("faulty")
    settings = kind.settings.model_validate({"name": name, "kind": "faulty", "remember": False})
    with EventQueue(directory, min_free_bytes=0) as queue, ExitStack() as stack:
        queue.target(name).register()
        record = stack.enter_context(closing(_journal(file))).append if file else None
        drain = Drain(Replayer(queue, settings, Translator.of(settings), record=record), lambda: kind.open(settings))
        began = time.perf_counter()
        drain.start()
        while (position := queue.target(name).position()) < events:
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        drain.stop()
        drain.join(60)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"events": position, "rate": position / seconds, "rss_mb": peak}


def _journal(file: Path) -> Journal:
    settings = JournalConfig()
    journal = Journal(file, keep=settings.keep, max_bytes=settings.max_mb * 1024 * 1024)
    journal.worker.start()
    return journal


if __name__ == "__main__":
    logs.configure("error", "console")
    collect_seldom()
    place, target, number, *journal_file = sys.argv[1:]
    print(json.dumps(main(Path(place), target, int(number), Path(journal_file[0]) if journal_file else None)))
