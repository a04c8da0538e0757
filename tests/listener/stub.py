"""The bridge's stub as a process: writes down the name of each database that it takes a CREATE_DATABASE of."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from tests.listener.stand import Bridge, Event, database_in


def main(port: int, token: Path, events: Path) -> None:
    """Until it is killed."""

    def take(event: Event) -> str:
        with lock, events.open("a") as file:
            if (event.instance, event.sequence) not in seen:
                seen.add((event.instance, event.sequence))
                file.write(f"{database_in(event)}\n")
        return "queued"

    lock = threading.Lock()
    seen: set[tuple[str, int]] = set()
    bridge = Bridge(port)
    bridge.answer = take
    bridge.start(token.read_text().strip())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
