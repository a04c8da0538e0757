"""README's blocks of "Set it up", run as they stand, on a machine that has nothing of ours.

For Glue up to the first row: a real Trino, which Athena is, reads the table as the embedded Glue has it. Its files are
brought to S3 by the test: README leaves that to a copy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import boto3
import pytest

from pysync.lab.aws import EmbeddedAws
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from tests.readme.blocks import README, shell_blocks
from tests.readme.cleanroot import CleanRoot, missing
from tests.readme.host import HIVE_HOME, SPARK, WAREHOUSE, copy_checkout, furnish, write
from tests.readme.otherhost import metastore_elsewhere
from tests.support import wait_until
from tests.views.bring import bring
from tests.views.trino import Trino

pytestmark = pytest.mark.timeout(1500)
CHECKOUT = "/root/pysync"
BUCKET = "my-bucket"
ANY_KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
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

    def print(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = [*self.taken, ("all of it", sum(it for _, it in self.taken))]
        with capsys.disabled():
            print("", *(f"{seconds:8.1f} s  {title}" for title, seconds in lines), sep="\n")  # noqa: T201 - for people


@contextmanager
def host_of_a_metastore(
    directory: Path, steps: Steps, hosts: Sequence[str] = (), user: str = "hive"
) -> Iterator[CleanRoot]:
    """A machine with this checkout and a metastore of that user, which knows the lines `hosts` of /etc/hosts."""
    assert missing() == [], "this machine cannot make a clean root"
    machine = CleanRoot(directory / "root")
    with steps.step("(a fresh Debian)"):
        machine.build()
        copy_checkout(machine.inside(CHECKOUT))
    with machine:
        with machine.inside("/etc/hosts").open("a") as file:
            file.writelines(f"{it}\n" for it in hosts)
        with steps.step("(the metastore of the host, without pysync)"):
            furnish(machine, user)
            machine.run(["systemctl", "start", "hive-metastore"])
        yield machine


def follow(machine: CleanRoot, steps: Steps, blocks: Sequence[str]) -> None:
    """Paste the blocks."""
    for block in blocks:
        with steps.step("; ".join(first_words(line) for line in block.splitlines() if is_command(line))):
            paste(machine, block)


def test_the_set_up_of_readme_works_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps()
    with (
        metastore_elsewhere(tmp_path / "dr") as (address, target),
        host_of_a_metastore(tmp_path, steps, [f"{address} dr-hms"]) as machine,
    ):
        follow(machine, steps, shell_blocks("Set it up", README.read_text()))
        create_table(machine, steps)
        with steps.step("the table is at the target"):
            wait_until(lambda: has_table(target, "sales", "orders"), seconds=60, what="the table")
    steps.print(capsys)


@pytest.mark.parametrize("user", ["hive", "root"])
def test_the_set_up_of_readme_brings_the_first_row_from_glue(
    user: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the options that README gives. The embedded Glue stands for that of AWS, by a profile of the user."""
    steps = Steps()
    with EmbeddedAws(athena=False) as aws, host_of_a_metastore(tmp_path, steps, user=user) as machine:
        home = "/root" if user == "root" else f"/home/{user}"
        keys = "aws_access_key_id = any\naws_secret_access_key = any\n"
        write(machine, f"{home}/.aws/config", f"[default]\n{keys}endpoint_url = {aws.url}\n")
        follow(machine, steps, [as_user(it, user) for it in blocks_for_glue(README.read_text())])
        create_table(machine, steps, user)
        with steps.step("the table is in Glue, and its partition"):
            glue = boto3.client("glue", region_name="eu-west-1", endpoint_url=aws.url, **ANY_KEYS)
            location = f"s3://{BUCKET}/warehouse/sales.db/orders/at=2026-01-01"
            wait_until(lambda: partition_locations(glue, "sales", "orders") == [location], seconds=60, what="all of it")
        upload(machine, aws)
        with ExitStack() as stack:
            (tmp_path / "trino").mkdir()
            with steps.step("(Trino starts)"):
                trino = stack.enter_context(Trino(bring(), tmp_path / "trino", aws.url))
            with steps.step("the first row"):
                rows = trino.rows("select * from awsdatacatalog.sales.orders")
    steps.print(capsys)
    assert rows == [[1, "2026-01-01"]]


def paste(machine: CleanRoot, block: str) -> None:
    """Run the block; where it only looks at the status, look again until all is well and the listener is heard."""
    script = ["bash", "-exc", block]
    if not block.removeprefix("sudo -u hive ").startswith("pysync status"):
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


def create_table(machine: CleanRoot, steps: Steps, user: str = "hive") -> None:
    """A table with a partition and a row, by the host's Spark."""
    with steps.step("(Spark makes a table)"):
        machine.run(["sudo", "-u", user, f"PYTHONPATH={SPARK}", "python3", f"{SPARK}/create_table.py"], cwd="/tmp")


def upload(machine: CleanRoot, aws: EmbeddedAws) -> None:
    """Bring the files of the tables to where `--location` says that they are."""
    s3, warehouse = aws.client("s3"), machine.inside(WAREHOUSE)
    s3.create_bucket(Bucket=BUCKET)
    for file in warehouse.rglob("part-*"):
        s3.upload_file(str(file), BUCKET, f"warehouse/{file.relative_to(warehouse)}")


def has_table(target: MetastoreAccess, database: str, table: str) -> bool:
    with Metastore(target) as metastore:
        return database in metastore.databases() and table in metastore.tables(database)


def blocks_for_glue(text: str) -> list[str]:
    """The blocks with what README says to write instead for Glue, and the place of this host's files."""
    (options,) = re.findall(r"`(--target-kind glue [^`]+)`", text)
    options = options.replace("hdfs://adh1/warehouse", f"file:{WAREHOUSE}")
    replaced = {
        "dist/pysync-*.whl  ": '"$(ls dist/pysync-*.whl)[aws]"  ',
        "--target-kind hms --target-metastore thrift://dr-hms:9083": options,
    }
    blocks = "\0".join(shell_blocks("Set it up", text))
    for former, new in replaced.items():
        assert blocks.count(former) == 1, former
        blocks = blocks.replace(former, new)
    return blocks.split("\0")


def as_user(block: str, user: str) -> str:
    """The block for a metastore of that user, in place of hive's."""
    if user == "root":
        block = block.replace("sudo -u hive ", "")
    return block.replace("--user hive ", f"--user {user} ")


def partition_locations(glue: Any, database: str, table: str) -> list[str]:
    try:
        found = glue.get_partitions(DatabaseName=database, TableName=table)["Partitions"]
    except glue.exceptions.EntityNotFoundException:
        return []
    return [it["StorageDescriptor"]["Location"] for it in found]


def test_the_section_has_blocks():
    assert len(shell_blocks("Set it up", README.read_text())) >= 2


def test_a_block_is_what_stands_between_its_fences(tmp_path: Path):
    text = "## A\n```sh\none\n```\n```toml\nx = 1\n```\n```sh\ntwo\nthree\n```\n## B\n```sh\nfour\n```\n"
    assert shell_blocks("A", text) == ["one\n", "two\nthree\n"]
    with pytest.raises(ValueError, match="no heading 'C'"):
        shell_blocks("C", text)
