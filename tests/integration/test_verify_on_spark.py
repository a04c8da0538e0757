"""`pysync verify --on-spark` on real metastores and a real Spark: the same report, exit codes and repair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.integration.test_verify import DAYS, Ends, add, alter, create, fill, setting
from tests.support import partition
from tests.support.sidecars import command
from tests.support.stages import assert_converges

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SECONDS = 240.0
MANY = 2100
"""Partitions, so that the table is divided."""

OPTIONS = """\
[spark]
settings = { "spark.driver.defaultJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1" }
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    with Stage(tmp_path_factory.mktemp("spread"), options=OPTIONS) as stage:
        stage.target.start()
        stage.source.start()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            fill(source)
            create(source, "many", partition_keys=[("day", "string")])
            add_many(source, MANY)
            stage.start_sidecar()
            assert_converges(stage, SECONDS)
            yield Ends(stage, source, target)


def add_many(source: Metastore, count: int) -> None:
    of = source.table("db", "many")
    parts = [partition_of(of, f"{number:05}") for number in range(count)]
    for start in range(0, count, 500):
        source.call(lambda client, some=parts[start : start + 500]: client.add_partitions(some))


def partition_of(of: Any, day: str) -> Any:
    made = partition(of, [day])
    made.sd.cols = of.sd.cols
    return made


def verify(ends: Ends, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process and a directory of its own, so that executors find what is installed alone."""
    words = command(("verify", "-c", ends.stage.config_file, *arguments))
    return subprocess.run(
        words,
        env={**os.environ, **environment},
        cwd=ends.stage.directory,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    (found,) = json.loads(done.stdout)["targets"]
    return {**found, "seconds": 0}


def test_the_report_is_the_same_and_so_is_the_repair(ends: Ends, tmp_path: Path) -> None:
    clean = verify(ends, "--on-spark", "--json")
    assert clean.returncode == 0, clean
    assert report(clean) == report(verify(ends, "--json"))
    assert report(clean)["partitions"] == MANY + len(DAYS)

    alter("comment", setting("parameters[comment]", "x"))(ends.target)
    ends.target.call(lambda client: client.drop_table("db", "gone", False))
    for day in ("00001", f"{MANY - 1:05}"):
        ends.target.call(lambda client, it=day: client.drop_partition("db", "many", [it], False))
    add(ends.target, "parts", "9")
    drifted = verify(ends, "--on-spark", "--json", "--junit", tmp_path / "spark.xml")
    assert drifted.returncode == 1, drifted.stderr
    assert report(drifted) == report(verify(ends, "--json", "--junit", tmp_path / "here.xml"))
    assert report(drifted)["drift"] == 4
    assert (tmp_path / "spark.xml").read_text().count("<failure") == (tmp_path / "here.xml").read_text().count(
        "<failure"
    )

    mended = verify(ends, "--on-spark", "--repair", "--json")
    assert (mended.returncode, report(mended)["drift"]) == (0, 0), mended.stderr


def test_executors_without_pysync_are_told_of_in_a_line(ends: Ends) -> None:
    """Their Python sees nothing that is installed here."""
    bare = ends.stage.directory / "python"
    bare.write_text(f'#!/bin/sh\nexec {Path(sys.executable).resolve()} -S -E "$@"\n')
    bare.chmod(0o755)
    done = verify(ends, "--on-spark", PYSPARK_PYTHON=str(bare))
    last = done.stderr.splitlines()[-1]  # the JVM has told of itself
    assert (done.returncode, "has no Python module" in last, "docs/verify.md" in last) == (2, True, True), done
    assert "Traceback" not in done.stderr


def test_a_source_that_is_away_is_told_of_in_a_line(ends: Ends, tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    file.write_text(ends.stage.config_file.read_text().replace(ends.stage.source.uri, "thrift://127.0.0.1:1"))
    words = command(("verify", "-c", file, "--on-spark"))
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, "cannot read the source" in last, "127.0.0.1:1" in last) == (1, True, True), done
