"""README's blocks of "Set it up", run as they stand, on a machine that has nothing of ours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pysync.metastore.client import Metastore
from tests.readme.blocks import README, shell_blocks
from tests.readme.cleanroot import CleanRoot, missing
from tests.readme.host import HIVE_HOME, SPARK, copy_checkout, furnish
from tests.readme.otherhost import metastore_elsewhere

pytestmark = pytest.mark.timeout(1500)
CHECKOUT = "/root/pysync"
# What a person on such a host has in the environment.
ENVIRONMENT = {"HIVE_HOME": HIVE_HOME, "HIVE_CONF_DIR": f"{HIVE_HOME}/conf"}


class Steps:
    """What was done, and how long it took."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, float]] = []

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.taken.append((title, time.monotonic() - began))

    def print(self) -> None:
        for title, seconds in [*self.taken, ("all of it", sum(it for _, it in self.taken))]:
            print(f"{seconds:8.1f} s  {title}")  # noqa: T201 - this is what the person wants to see


def test_the_set_up_of_readme_works_as_it_is_written(tmp_path, capsys):
    assert missing() == [], "this machine cannot make a clean root"
    steps = Steps()
    machine = CleanRoot(tmp_path / "root")
    with steps.step("(a fresh Debian)"):
        machine.build()
        copy_checkout(machine.inside(CHECKOUT))
    with machine, metastore_elsewhere("dr-hms", machine.inside("/etc/hosts"), tmp_path / "dr") as target:
        with steps.step("(the metastore of the host, without pysync)"):
            furnish(machine)
            machine.run(["systemctl", "start", "hive-metastore"])
        for block in shell_blocks("Set it up", README.read_text()):
            with steps.step("; ".join(first_words(line) for line in block.splitlines() if is_command(line))):
                paste(machine, block)
        with steps.step("a table that Spark makes is at the target"):
            create_table(machine)
            wait_for_table(target, "sales", "orders")
    with capsys.disabled():
        print()  # noqa: T201
        steps.print()


def paste(machine: CleanRoot, block: str) -> None:
    """Run the block; where it only looks at the status, look again until all is well and the listener is heard."""
    script = ["bash", "-exc", block]
    if not block.startswith("sudo -u hive pysync status"):
        machine.run(script, cwd=CHECKOUT, env=ENVIRONMENT)
        return
    for _ in range(60):
        with suppress(AssertionError):
            if "heard" in machine.run(script, cwd=CHECKOUT, env=ENVIRONMENT):
                return
        time.sleep(1)
    machine.run([*script[:-1], f"{block}\nfalse"], cwd=CHECKOUT, env=ENVIRONMENT)


def is_command(line: str) -> bool:
    return bool(line.strip()) and not line.startswith((" ", "#"))


def first_words(line: str) -> str:
    return " ".join(line.split("#", maxsplit=1)[0].split()[:3])


def create_table(machine: CleanRoot) -> None:
    machine.run(["sudo", "-u", "hive", f"PYTHONPATH={SPARK}", "python3", f"{SPARK}/create_table.py"], cwd="/tmp")


def wait_for_table(target, database: str, table: str) -> None:
    """With its partition."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with Metastore(target) as metastore:
            if database in metastore.databases() and table in metastore.tables(database):
                return
        time.sleep(0.2)
    raise AssertionError(f"{database}.{table} did not arrive")


def test_the_section_has_blocks():
    assert len(shell_blocks("Set it up", README.read_text())) >= 2


def test_a_block_is_what_stands_between_its_fences(tmp_path: Path):
    text = "## A\n```sh\none\n```\n```toml\nx = 1\n```\n```sh\ntwo\nthree\n```\n## B\n```sh\nfour\n```\n"
    assert shell_blocks("A", text) == ["one\n", "two\nthree\n"]
    with pytest.raises(ValueError, match="no heading 'C'"):
        shell_blocks("C", text)
