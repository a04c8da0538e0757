"""Shutdown: a process is told to end, by whichever thread the kernel gives the signal to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from pysync.sidecar.shutdown import Shutdown
from tests.support import wait_for_items

PROGRAM = """
import threading, time
from pysync.sidecar.shutdown import Shutdown
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
ending = Shutdown()
ending.on_signals()
print("waits", flush=True)
while not ending.is_requested():
    pass
print(ending.failure())
"""


def test_a_failure_is_told():
    ending = Shutdown()
    assert not ending.is_requested()
    ending.ask("the bridge ended")
    assert (ending.is_requested(), ending.failure()) == (True, "the bridge ended")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_another_thread_ends_it_too(number):
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waits\n"
        tasks = f"/proc/{process.pid}/task"
        found = wait_for_items(lambda: os.listdir(tasks), 2, what="the other thread")  # noqa: PTH208
        begun = time.monotonic()
        os.kill(max(map(int, found)), number)
        assert process.wait(60) == 0
        assert time.monotonic() - begun < 30
        assert process.stdout.read() == "None\n"
