"""What a command imports: who only asks the sidecar must not wait for what the sidecar alone needs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
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
{code}
print("modules", *sorted(sys.modules))
"""
EACH = """
from pysync.cli import main
for line in sys.argv[1:]:
    sys.argv = ["pysync", *line.split()]
    try:
        main()
    except SystemExit as end:
        print("exit code", end.code)
"""
"""Runs its arguments as command lines of pysync, one after the other."""

OF_AWS = {"boto3", "botocore"}
HEAVY = OF_AWS | {"asyncio", "hmsclient", "persistqueue", "py4j", "pyspark", "rich", "sqlite3", "structlog", "tenacity"}
HEAVY |= {"thrift", "pysync.config", "pysync.model.operation", "pysync.queue", "pysync.control.server"}

ASKING = ["status", "plan", "pause dr", "resume dr", "refresh", "parked list dr", "parked show dr 1"]
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


@pytest.mark.parametrize(("commands", "more"), [(ASKING, set()), (["events"], {"rich"})])
def test_who_only_asks_imports_little(commands, more, conf):
    modules, output = imported(EACH, *(f"{it} -c {conf}" for it in commands))
    assert output.count("no sidecar runs") == len(commands)
    assert modules & HEAVY == more


def test_an_answer_needs_no_more(conf):
    server = ControlServer(conf.parent, {"plan": lambda _: {"targets": ["the answer"]}})
    server.start()
    try:
        modules, output = imported(EACH, f"plan --json -c {conf}")
    finally:
        server.stop()
    assert "the answer" in output
    assert modules & HEAVY == set()


def test_a_word_about_itself_imports_little():
    modules, output = imported(EACH, "--help", "--version", "status --help", "parked", "parked --help")
    assert output.count("Usage: pysync") == 4
    assert modules & HEAVY == set()


OF_OTHER_COMMANDS = ["dump", "hiveql.text", "lab", "views", "web.app"]
OF_OTHER_COMMANDS += ["targets.athena", "targets.aws", "targets.glue", "targets.hms", "targets.spark.store"]


def test_a_sidecar_imports_nothing_of_other_commands_or_of_unconfigured_kinds():
    packages = {f"pysync.{name}" for name in OF_OTHER_COMMANDS}
    assert all(map(find_spec, packages))
    modules, _ = imported("import pysync.cli.run")
    assert "pysync.sidecar.process" in modules
    assert modules & {*OF_AWS, *packages, "pyspark"} == set()


OF_EXTRAS = {"argon2", "boto3", "botocore", "cryptography", "fastavro", "flask", "gssapi", "jinja2", "moto", "pyarrow"}
OF_EXTRAS |= {"prometheus_client", "pyathena", "pyspark", "sqlglot", "starlette", "uvicorn"}


def without(packages: Iterable[str]) -> str:
    """What a process runs first that is to have none of these packages."""
    return f"""
import sys
class NoExtras:
    def __init__(self, finders):
        self.finders = finders
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(packages)}:
            return None
        return next((it for finder in self.finders if (it := finder.find_spec(name, path, target))), None)
    def find_distributions(self, *context):
        finders = [finder for finder in self.finders if hasattr(finder, "find_distributions")]
        return (it for finder in finders for it in finder.find_distributions(*context))
sys.meta_path[:] = [NoExtras(sys.meta_path[:])]
"""


@pytest.fixture
def only_hms(conf):
    conf.write_text(conf.read_text().partition('[[targets]]\nname = "lake"')[0])
    return conf


def test_without_any_extra_every_command_is_there_and_a_metastore_can_be_a_target(only_hms):
    names = sorted(it.stem for it in Path(cli.__file__).parent.glob("[a-z]*.py"))
    code = "".join(f"import pysync.cli.{name}\n" for name in names)
    code += f"from pathlib import Path\nfrom pysync.config import load_config\nload_config(Path({str(only_hms)!r}))"
    run = [sys.executable, "-c", without(OF_EXTRAS) + code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


EXTRAS_OF_COMMANDS = {
    "demo": "embedded",
    "demo --target glue": "embedded-aws",
    "embedded somewhere": "embedded",
    "embedded --aws": "embedded-aws",
    "verify --html x.html": "web",
    "web-password file ann": "web",
}


def test_a_command_that_needs_an_extra_says_which(only_hms, monkeypatch):
    monkeypatch.setenv("PYSYNC_CONFIG", str(only_hms))
    run = [sys.executable, "-c", without(OF_EXTRAS) + EACH, *EXTRAS_OF_COMMANDS]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    refusal = r"pysync: .* needs packages that are not installed; pip install .*\[(.*)\]\"\n"
    assert re.findall(refusal, done.stderr) == list(EXTRAS_OF_COMMANDS.values())
    assert re.sub(refusal, "", done.stderr) == ""
    assert done.stdout.splitlines() == ["exit code 2"] * len(EXTRAS_OF_COMMANDS)


def test_the_demo_of_two_metastores_needs_no_extra_of_aws():
    code = without(OF_EXTRAS - {"pyspark"}) + "import pysync.lab.demo.show"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
