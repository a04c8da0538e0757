"""What a command imports: who only asks the sidecar must not wait for what the sidecar alone needs."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pysync import cli
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
    output, _, modules = done.stdout.rpartition("modules ")
    return set(modules.split()), output + done.stderr


@pytest.fixture
def conf(tmp_path):
    file = tmp_path / "pysync.toml"
    file.write_text(CONF.format(queue=tmp_path))
    return file


@pytest.mark.parametrize("command", ASKING)
def test_who_only_asks_imports_little(command, conf):
    modules, output = imported(MAIN, *command.split(), "-c", conf)
    assert "no sidecar runs" in output
    shows_progress = {"rich"} if command == "events" else set()
    assert modules & HEAVY == shows_progress


def test_an_answer_needs_no_more(conf):
    server = ControlServer(conf.parent, {"plan": lambda _: {"targets": ["the answer"]}})
    server.start()
    try:
        modules, output = imported(MAIN, "plan", "--json", "-c", conf)
    finally:
        server.stop()
    assert "the answer" in output
    assert modules & HEAVY == set()


ABOUT_ITSELF = [["--help"], ["--version"], ["status", "--help"], ["parked"], ["parked", "--help"]]


@pytest.mark.parametrize("arguments", ABOUT_ITSELF)
def test_a_word_about_itself_imports_little(arguments):
    modules, output = imported(MAIN, *arguments)
    assert "pysync" in output
    assert modules & HEAVY == set()


OF_OTHER_COMMANDS = ["dump", "lab", "views.text", "web.app"]
OF_OTHER_COMMANDS += ["targets.athena", "targets.aws", "targets.glue", "targets.hms", "targets.spark.store"]


@pytest.mark.parametrize("package", [f"pysync.{name}" for name in OF_OTHER_COMMANDS])
def test_a_sidecar_imports_nothing_of_other_commands_or_of_unconfigured_kinds(package):
    assert find_spec(package)
    modules, _ = imported("import pysync.cli.run")
    assert "pysync.sidecar.process" in modules
    assert modules & {*OF_AWS, "pyspark", package} == set()


OF_EXTRAS = {"argon2", "boto3", "botocore", "cryptography", "fastavro", "flask", "gssapi", "jinja2", "moto", "pyarrow"}
OF_EXTRAS |= {"prometheus_client", "pyathena", "pyspark", "sqlglot", "starlette", "uvicorn"}
WITHOUT_EXTRAS = f"""
class NoExtras:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OF_EXTRAS}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, NoExtras())
"""
NEEDS_EXTRAS = {"tryout"}
"""Commands that say at once which extra they need."""


def test_without_any_extra_every_command_is_there_and_a_metastore_can_be_a_target(conf):
    names = sorted({it.stem for it in Path(cli.__file__).parent.glob("[a-z]*.py")} - NEEDS_EXTRAS)
    code = "".join(f"import pysync.cli.{name}\n" for name in names)
    conf.write_text(conf.read_text().partition('[[targets]]\nname = "lake"')[0])
    code += f"from pathlib import Path\nfrom pysync.config import load_config\nload_config(Path({str(conf)!r}))"
    run = [sys.executable, "-c", f"import sys\n{WITHOUT_EXTRAS}\n{code}"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
