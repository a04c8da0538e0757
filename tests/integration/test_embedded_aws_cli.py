"""`pysync embedded --aws`, as a person runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import process_is_gone, wait_until

PROGRAM = """
import boto3, time
athena = boto3.client("athena")
text = "CREATE EXTERNAL TABLE t (a int) LOCATION 's3://b/t'"
boto3.client("glue").create_database(DatabaseInput={"Name": "default"})
where = {"ResultConfiguration": {"OutputLocation": "s3://b/"}}
name = athena.start_query_execution(QueryString=text, **where)["QueryExecutionId"]
state = ""
while state not in {"SUCCEEDED", "FAILED"}:
    state = athena.get_query_execution(QueryExecutionId=name)["QueryExecution"]["Status"]["State"]
    time.sleep(0.1)
print(state, boto3.client("glue").get_table(DatabaseName="default", Name="t")["Table"]["TableType"])
"""


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    text = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in text for child in (task / "children").read_text().split()]


@pytest.mark.crash
def test_it_says_what_to_set_and_ends_with_all_it_started(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pysync", "embedded", "--aws", str(tmp_path / "aws")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            lines = []
            while not lines or not lines[-1].startswith("It runs until"):
                lines.append(running.stdout.readline())
                assert lines[-1], "it ended"
            exported = [line.split()[1].split("=", 1) for line in lines if line.startswith("  export ")]
            environment = {**os.environ, **dict(exported)}
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
            )
            assert (done.stdout, done.stderr) == ("SUCCEEDED EXTERNAL_TABLE\n", "")
            server = int(lines[0].split()[2])
            started = [server, *children(server)]
            assert len(started) == 2, "the server and its Java"
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 0
        finally:
            running.kill()
    for pid in started:
        wait_until(lambda pid=pid: process_is_gone(pid), seconds=30, what=f"the end of process {pid}")  # type: ignore[misc]


def test_a_metastore_needs_a_directory() -> None:
    done = subprocess.run([sys.executable, "-m", "pysync", "embedded"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "pysync: the embedded metastore needs a directory; name a DIRECTORY for its settings, log and data\n"
    )
