"""Every command line that README.md and docs/*.md show is run, as it stands there.

tests/support/docgroups.py says in which world; that is where a new one has to be put.
"""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pysync.config import load_config
from pysync.lab import EmbeddedMetastore
from pysync.lab.aws import EmbeddedAws
from tests.support import docgroups, wait_until
from tests.support.certificates import Authority
from tests.support.docforms import other_lines, unexplained, unprinted
from tests.support.docgroups import entries, of
from tests.support.docpages import ROOT, Shown
from tests.support.docworlds import Running, Shell, alone, carried, drop, known_to_the_queue
from tests.support.logged import LoggedMetastore
from tests.support.sidecars import FaultyPlace, sidecar


def each(group: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "shown", [it for entry in entries(group) for it in of(entry)], ids=lambda it: it.name
    )


def test_every_command_line_is_in_one_group() -> None:
    groups = [{it for entry in entries(group) for it in of(entry)} for group in docgroups.GROUPS]
    found = [(name, [at for at, group in enumerate(groups) if it in group]) for name, it in docgroups.NAMED]
    assert [(name, at) for name, at in found if len(at) != 1] == []


def test_every_entry_is_still_on_a_page() -> None:
    assert [entry for group in docgroups.GROUPS for entry in entries(group) if not of(entry)] == []
    texts = " ".join(it.text for _, it in docgroups.NAMED)
    assert [it for it in docgroups.SUBSTITUTES if it not in texts] == []


def run(shown: Shown, shell: Shell, code: int = 0, seconds: float = 120) -> str:
    """What it printed; it ends with that exit code, in the form that its page shows."""
    done = shell.run(shown.text, seconds)
    reported = f"{shell.line(shown.text)}\n{done.stdout}\n{done.stderr}"
    assert (done.returncode, "Traceback" in reported) == (code, False), reported
    assert other_lines([shell.line(it) for it in shown.output], done.stdout) == [], reported
    if "--json" in shown.words():
        assert_json(shown, json.loads(done.stdout))
    return done.stdout


def assert_json(shown: Shown, printed: object) -> None:
    page = (ROOT / "docs" / shown.page).read_text()
    section = docgroups.KEYS.get(shown.name, docgroups.KEYS.get(shown.page, shown.section))
    verb = [it for it in shown.words() if not it.startswith("-")][2:3]
    assert unexplained(printed, page) == set()
    assert unprinted(printed, page, section, "".join(verb)) == []


# --- beside a running sidecar


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("running")) as world:
        yield world


@each(docgroups.RUNNING)
def test_beside_a_sidecar(shown: Shown, running: Running, tmp_path: Path) -> None:
    printed = run(shown, running.shell(tmp_path))
    if "--junit" in shown.text:
        assert ElementTree.parse(tmp_path / "verify.xml").getroot().tag == "testsuites"  # noqa: S314 - our own
    if "listener remove" in shown.text:
        assert "--json" not in shown.words() or json.loads(printed)["removed"]
        wait_until(lambda: bool(running.stage.status()["listeners"]), what="the listener's next report")


@each(docgroups.WAITING)
def test_beside_a_sidecar_with_an_event_that_waits(shown: Shown, running: Running, tmp_path: Path) -> None:
    with running.waiting():
        run(shown, running.shell(tmp_path))


@each(docgroups.PARKED)
def test_beside_a_sidecar_with_a_parked_event(shown: Shown, running: Running, tmp_path: Path) -> None:
    with running.parked() as position:
        if "retry" in shown.text:
            running.mend()
        run(shown, running.shell(tmp_path).at(position=position))
        assert running.dr()["parked"] == ("list" in shown.text or "show" in shown.text)


@each(docgroups.DRIFTED)
def test_beside_a_sidecar_whose_target_has_drifted(shown: Shown, running: Running, tmp_path: Path) -> None:
    drop(running.target, "crm", "customers")
    run(shown, running.shell(tmp_path))
    assert running.target.tables("crm") == ["customers"]


@each(docgroups.RESCOPED)
def test_beside_a_sidecar_with_another_scope_in_its_file(shown: Shown, running: Running, tmp_path: Path) -> None:
    (tmp_path / "pysync.toml").write_text(running.file.read_text() + 'include = ["crm"]\n')
    printed = run(shown, Shell(tmp_path, tmp_path / "pysync.toml"))
    assert "include: " in printed
    assert "sales.orders" in printed


@each(docgroups.RELOADED)
def test_after_a_reload_with_another_scope(shown: Shown, tmp_path: Path) -> None:
    """Its source has no address, so the gap stays open until somebody can look."""
    place = FaultyPlace(tmp_path)
    shell = Shell(tmp_path, place.file)
    configure(place, "sales")
    with sidecar(place):
        configure(place, "crm")
        assert shell.run("pysync reload").returncode == 0
        printed = run(shown, shell, code=1)
    assert shown.comment in map(str.strip, printed.splitlines())


def configure(place: FaultyPlace, include: str) -> None:
    place.write(more=f'include = ["{include}"]\n')
    place.file.write_text(place.file.read_text().replace('name = "try"', 'name = "dr"'))


# --- without one


@pytest.fixture
def logged(running: Running) -> Iterator[LoggedMetastore]:
    """The source, with a notification log whose newest entry is the one that docs/dump.md has."""
    server = LoggedMetastore(running.stage.source.uri, 48213)
    yield server
    server.close()


@each(docgroups.ALONE)
def test_without_a_sidecar(shown: Shown, logged: LoggedMetastore, running: Running, tmp_path: Path) -> None:
    shell = alone(tmp_path, logged.uri, running.stage.target.uri, by_log=shown.page == "versions.md")
    if "target" in shown.words():
        known_to_the_queue(shell, "dr")
        shell.config.write_text(shell.config.read_text().replace('name = "dr"', 'name = "standby"'))
    run(shown, shell)
    if "bootstrap" in shown.words():
        assert running.target.partition_names("alone_sales", "orders") == ["day=1", "day=2"]


@pytest.mark.crash
@pytest.mark.parametrize("section", entries(docgroups.CHANGED))
def test_targets_are_changed_without_a_sidecar(
    section: str, logged: LoggedMetastore, running: Running, tmp_path: Path
) -> None:
    shell = alone(tmp_path, logged.uri, running.stage.target.uri)
    known_to_the_queue(shell, "dr")
    for shown in of(section):
        run(shown, shell)
    assert [it.name for it in load_config(shell.config).targets] == ["dr"]


@pytest.mark.parametrize("section", entries(docgroups.CARRIED))
def test_dumps_are_carried(section: str, logged: LoggedMetastore, running: Running, tmp_path: Path) -> None:
    shell = carried(tmp_path, logged.uri, running.stage.target.uri)
    for shown in of(section):
        if "--from" in shown.words():
            logged.touch("sales", "orders")
        run(shown, shell)
    assert running.target.partition_names("carried", "orders") == ["day=1", "day=2"]


@each(docgroups.NOTHING)
def test_with_files_only(shown: Shown, tmp_path: Path) -> None:
    rule = 'hms : name matches "sales.*" | hms-sync -dest thrift://dr:9083'
    (tmp_path / "rules.txt").write_text(f"# for the standby\n{rule}\n")
    if shown.words()[0] == "openssl":
        Authority(tmp_path, "ca")
    directory = ROOT if "tests.simulation" in shown.text else tmp_path
    run(shown, Shell(directory, tmp_path / "none.toml", {"etc": f"{tmp_path}/", "state": tmp_path}))
    if "rules.txt" in shown.text:
        assert load_config(tmp_path / "pysync.toml").targets[0].name == "dr"
    if "token" in shown.words():
        name = Path(shown.words()[shown.words().index("token") + 1]).name
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


# --- with Spark, an AWS of this machine, or servers of their own

_SMALL = """\
copy = true
[spark]
settings = { "spark.driver.defaultJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1" }"""


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("copying"), f"{_SMALL}\n") as world:
        yield world


@pytest.mark.spark
@pytest.mark.timeout(600)
@each(docgroups.SPARK)
def test_with_a_target_that_copies(shown: Shown, copying: Running, tmp_path: Path) -> None:
    """A file that the source has and the target has not comes; one that pysync did not copy to the target stays."""
    words = set(shown.words())
    here, there = (it.warehouse / "sales.db/orders/day=1" for it in (copying.stage.source, copying.stage.target))
    files = [here / "new", there / "new", there / "stray"] if words & {"copy", "--repair"} else []
    for file in files[::2]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1\n")
    try:
        run(shown, copying.shell(tmp_path), seconds=300)
        assert [it.exists() for it in files] in ([], [True, "--dry-run" not in words, True])
    finally:
        for file in files:
            file.unlink(missing_ok=True)


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("section", entries(docgroups.SPARK_CARRIED))
def test_dumps_are_carried_with_files(section: str, copying: Running, tmp_path: Path) -> None:
    source, target = copying.stage.source, copying.stage.target
    locations = f'locations = {{ "file:{source.warehouse}" = "file:{target.warehouse}/carried" }}'
    shell = carried(tmp_path, source.uri, target.uri, f"{locations}\n{_SMALL}")
    shell = shell.at(nameservice=f"file:{source.warehouse}")
    for shown in of(section):
        run(shown, shell, seconds=300)


_LAKE = """\
name = "lake"
kind = "athena"
region = "{aws.region}"
endpoint_url = "{aws.url}"
staging = "s3://my-bucket/athena/"
locations = {{ "file:{warehouse}" = "s3://my-bucket/warehouse" }}
"""


@pytest.mark.athena
@each(docgroups.ATHENA)
def test_with_an_aws_of_this_machine(
    shown: Shown, shared_aws: EmbeddedAws, shared_metastore: EmbeddedMetastore, tmp_path: Path
) -> None:
    shell = alone(tmp_path, shared_metastore.uri, _LAKE.format(aws=shared_aws, warehouse=shared_metastore.warehouse))
    run(shown, replace(shell, environment=shared_aws.environment()))


@pytest.mark.athena
@each(docgroups.UNTIL_INTERRUPTED)
def test_what_runs_until_it_is_interrupted(shown: Shown, tmp_path: Path) -> None:
    process = Shell(tmp_path, tmp_path / "none.toml").start(shown.text)
    try:
        assert process.stdout is not None
        lines = takewhile(lambda it: not it.startswith("It runs until"), process.stdout)
        assert any(it.startswith("  export ") for it in lines)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (0, "", "")


@pytest.mark.crash
@pytest.mark.timeout(900)
@each(docgroups.LONG)
def test_what_brings_its_own_servers(shown: Shown, tmp_path: Path) -> None:
    directory = ROOT if shown.words()[0] == "pytest" else tmp_path
    places = {"harness": "tests.conformance.harness_directory:DirectoryHarness"}
    run(shown, Shell(directory, tmp_path / "none.toml", places), seconds=800)
