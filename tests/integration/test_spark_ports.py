"""The ports of a Spark session of pysync's, tried by a process on the same host that knows no secret."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.harness_spark import SHORT_LIFE
from tests.support.sidecars import unused_port

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCRIPT = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from pysync.targets.spark_request import SparkRequest
from pysync.targets.spark.session import SparkHost
from tests.support.ports import answer_to, listening, rpc_request, text_object, with_children

host = SparkHost(SparkRequest(None, {settings!r}), Path({directory!r}))
context = host.session().sparkContext
if {without}:  # another one in the same process, as Spark is without pysync
    from pyspark import SparkContext
    settings = context.getConf().set("spark.authenticate", "false").set("spark.network.crypto.enabled", "false")
    context.stop()
    context = SparkContext(conf=settings)
driver = int(context.getConf().get("spark.driver.port"))
python = context._accumulatorServer.server_address[1]
java = context._gateway.gateway_parameters.port
context.parallelize([1], 1).map(str).collect()
rows = context._jvm.PythonRDD.collectAndServe(context.parallelize([1])._jrdd.rdd())[0]
ports = {{driver: "driver", {blocks}: "blocks", java: "gateway", python: "python", rows: "rows"}}
processes = with_children(os.getpid())
asked = {{"driver": rpc_request(text_object(b"canary-7d1f")), "python": b"\\xac\\xed" * 100,
         "gateway": b"c\\nz:java.lang.System\\nexit\\ni1\\ne\\n"}}
said = {{}}
for address, port in listening(processes):
    name = ports.get(port, "workers")
    said[name] = (address.is_loopback, answer_to(port, asked.get(name, asked["driver"])).decode("latin-1"))
running = [Path("/proc") / str(it) for it in with_children(os.getpid())]
everywhere = "".join((it / "cmdline").read_text() for it in running)
environment = "".join((it / "environ").read_text() for it in running if (it / "cmdline").read_text())  # no zombie
hadoop = context._jvm.org.apache.hadoop
credentials = hadoop.security.UserGroupInformation.getCurrentUser().getCredentials()
secret = (credentials.getSecretKey(hadoop.io.Text("sparkCookie")) or b"").decode()
shown = everywhere + environment + context._jsc.sc().getConf().toDebugString()
shown += "".join(it.read_text() for it in Path({directory!r}).glob("*") if it.is_file())
works = context._jsc.sc().isStopped() is False and context.range(10).count()
secrets = [len(secret) > 20, bool(secret) and secret in shown]
host.close()
print(json.dumps({{"said": said, "secrets": secrets, "works": works}}))
"""


def tried(directory: Path, *, without: bool = False) -> tuple[dict[str, object], list[str]]:
    """What each port answered, and the lines of standard error."""
    blocks = unused_port()
    settings = (*SHORT_LIFE.items(), ("spark.driver.blockManager.port", str(blocks)))
    values = {"settings": settings, "directory": str(directory), "without": without, "blocks": blocks}
    script = directory / "script.py"
    script.write_text(SCRIPT.format(root=str(Path(__file__).parents[2]), **values))
    python = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, script], env=python, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr.splitlines()


def test_who_knows_no_secret_has_nothing_deserialized_and_learns_nothing(tmp_path: Path) -> None:
    found, lines = tried(tmp_path)
    text = found["said"]
    assert isinstance(text, dict)
    assert text.keys() == {"driver", "blocks", "gateway", "python", "rows", "workers"}, (
        "a port that docs/security.md does not list"
    )
    assert all(loopback for loopback, _ in text.values())
    assert not any("canary" in answer or "org.apache.spark.rpc" in answer for _, answer in text.values())
    assert text["gateway"][1] == "!xsAuthentication error: unexpected command.\n"
    assert text["python"][1] == ""
    assert text["rows"][1].endswith("err")
    assert text["workers"][1].endswith("err")
    assert found["secrets"] == [True, False], "there is one, and no command line, environment, setting or log has it"
    assert found["works"] == 10
    assert [line for line in lines if "spark_started" not in line] == [], "garbage at a port is no line of the log"


def test_spark_alone_deserializes_what_anybody_sends(tmp_path: Path) -> None:
    """So the test above would notice."""
    found, _ = tried(tmp_path, without=True)
    text = found["said"]
    assert isinstance(text, dict)
    assert "Unsupported message" in text["driver"][1]
    assert "canary-7d1f" in text["driver"][1]
