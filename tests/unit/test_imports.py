"""What a command imports: who only asks the sidecar must not wait for what the sidecar alone needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pysync.control.server import ControlServer

CONF = """
[source]
name = "onprem"
[queue]
directory = "{queue}"
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://dr:9083"
[[targets]]
name = "lake"
kind = "glue"
region = "eu-west-1"
"""
SHOWS_MODULES = """
import sys
try:
    {code}
except SystemExit as end:
    print("exit code", end.code)
print("modules", *sorted(sys.modules))
"""
MAIN = "from pysync.cli import main; sys.argv[:1] = ['pysync']; main()"

OF_AWS = {"boto3", "botocore"}
HEAVY = OF_AWS | {"asyncio", "hmsclient", "persistqueue", "py4j", "pyspark", "rich", "sqlite3", "structlog", "tenacity"}
HEAVY |= {"thrift", "pysync.config", "pysync.model.operation", "pysync.queue", "pysync.control.server"}

ASKING = ["status", "plan", "pause dr", "resume dr", "refresh", "events", "parked list dr", "parked show dr 1"]
ASKING += ["parked retry dr", "parked skip dr 1 --yes", "parked adopt dr --yes"]


def imported(code, *arguments):
    """The modules that are there when `code` has run in a process of its own, and what it printed before."""
    line = [sys.executable, "-c", SHOWS_MODULES.format(code=code), *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    said, _, modules = done.stdout.rpartition("modules ")
    return set(modules.split()), said + done.stderr


@pytest.fixture
def conf(tmp_path):
    file = tmp_path / "pysync.toml"
    file.write_text(CONF.format(queue=tmp_path))
    return file


@pytest.mark.parametrize("command", ASKING)
def test_who_only_asks_imports_little(command, conf):
    modules, said = imported(MAIN, *command.split(), "-c", conf)
    assert "no sidecar runs" in said
    shows_progress = {"rich"} if command == "events" else set()
    assert modules & HEAVY == shows_progress


def test_an_answer_needs_no_more(conf):
    server = ControlServer(conf.parent, {"plan": lambda _: {"targets": ["the answer"]}})
    server.start()
    try:
        modules, said = imported(MAIN, "plan", "--json", "-c", conf)
    finally:
        server.stop()
    assert "the answer" in said
    assert modules & HEAVY == set()


ABOUT_ITSELF = [["--help"], ["--version"], ["status", "--help"], ["parked"], ["parked", "--help"]]


@pytest.mark.parametrize("arguments", ABOUT_ITSELF)
def test_a_word_about_itself_imports_little(arguments):
    modules, said = imported(MAIN, *arguments)
    assert "pysync" in said
    assert modules & HEAVY == set()


def test_a_sidecar_imports_no_kind_of_target_before_it_is_configured():
    modules, _ = imported("import pysync.cli.run")
    packages = ("athena", "aws", "faulty", "glue", "hms", "memory", "spark.target")
    assert "pysync.sidecar.process" in modules
    assert modules & (OF_AWS | {"pyspark"} | {f"pysync.targets.{name}" for name in packages}) == set()


@pytest.mark.parametrize("package", ["demo", "dump", "embedded"])
def test_a_sidecar_imports_nothing_of_other_commands(package):
    modules, _ = imported("import pysync.cli.run")
    assert f"pysync.{package}" not in modules
