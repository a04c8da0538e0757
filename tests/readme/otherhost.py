"""Another host: a metastore in a network namespace of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError

NAMESPACE = "pysync-readme"
NEAR, FAR = "10.213.7.1", "10.213.7.2"
PORT = 9083


@contextmanager
def metastore_elsewhere(directory: Path) -> Iterator[tuple[str, MetastoreAccess]]:
    """The address of another host, and a metastore that listens on its port 9083."""
    make_network()
    command = ["ip", "netns", "exec", NAMESPACE, sys.executable, "-m", "pysync", "embedded", str(directory), "--memory"]
    log = directory.with_suffix(".log").open("wb")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        access = MetastoreAccess.of(f"thrift://{FAR}:{PORT}")
        wait_until_it_answers(access)
        yield FAR, access
    finally:
        process.terminate()
        process.wait(60)
        log.close()
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


def make_network() -> None:
    """A cable between this host and the other one."""
    lines = f"""\
        link add pysync-near type veth peer name pysync-far netns {NAMESPACE}
        addr add {NEAR}/30 dev pysync-near
        link set pysync-near up
        -n {NAMESPACE} addr add {FAR}/30 dev pysync-far
        -n {NAMESPACE} link set pysync-far up
        -n {NAMESPACE} link set lo up"""
    subprocess.run(["ip", "netns", "delete", NAMESPACE], check=False, stderr=subprocess.DEVNULL)
    for line in [f"netns add {NAMESPACE}", *lines.splitlines()]:
        subprocess.run(["ip", *line.split()], check=True)


def wait_until_it_answers(access: MetastoreAccess) -> None:
    """AssertionError if it does not within two minutes."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with Metastore(access) as metastore:
                metastore.databases()
                return
        except MetastoreError:
            time.sleep(0.2)
    raise AssertionError("the other metastore does not answer")
