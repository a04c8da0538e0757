"""The images: what is in them, what is not, and how their process begins and ends."""

from __future__ import annotations

import os
import re
import signal
import stat
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pysync import __version__
from tests.container.hosts import Container, Mount
from tests.container.images import ROOT, Image, say
from tests.support import wait_until

COMPOSE = yaml.safe_load((ROOT / "conf" / "container" / "compose.yaml").read_text())
ALONE = """
[source]
name = "onprem"
[queue]
min_free_mb = 0
[web]
port = 9184
[[targets]]
name = "try"
kind = "faulty"
"""

Contain = Callable[..., Container]


def ran(contain: Contain, image: Image, *command: str, seconds: float = 60) -> tuple[int, str]:
    """The exit code of a process of the image, and what it said."""
    container = contain(image, [*image.config["Entrypoint"], *command])
    code = container.wait(seconds)
    return code, container.log_text()


@pytest.fixture
def places(tmp_path: Path, sidecar_image: Image) -> list[Mount]:
    """What a sidecar without a metastore needs: a configuration, a token, a queue; all else is read-only."""
    tmp_path.chmod(0o755)
    found = [Mount(tmp_path / "etc", "/etc/pysync"), Mount(tmp_path / "lib", "/var/lib/pysync")]
    for mount in found:
        mount.source.mkdir()
        os.chown(mount.source, *sidecar_image.user)
    token = tmp_path / "etc" / "token"
    token.write_text("0123456789abcdef")
    token.chmod(0o600)
    os.chown(token, *sidecar_image.user)
    (tmp_path / "etc" / "pysync.toml").write_text(ALONE)
    return found


def test_the_sidecar_says_its_version(contain: Contain, sidecar_image: Image) -> None:
    code, output = ran(contain, sidecar_image, "--version")
    assert (code, __version__ in output) == (0, True), output


def test_it_runs_as_the_user_of_hive_and_begins_with_run(sidecar_image: Image) -> None:
    assert sidecar_image.user == (1000, 1000)
    assert sidecar_image.command == ["tini", "--", "pysync", "run"]


def test_the_listener_jar_is_in_it(contain: Contain, sidecar_image: Image) -> None:
    code, output = ran(contain, sidecar_image, "jar")
    assert code == 0, output
    with zipfile.ZipFile(sidecar_image.rootfs / output.strip().removeprefix("/")) as jar:
        assert "org/pysync/listener/SidecarListener.class" in jar.namelist()


def test_no_tool_of_the_build_is_in_it(sidecar_image: Image) -> None:
    packages = {path.name.partition("-")[0] for path in (sidecar_image.rootfs / "opt").rglob("*.dist-info")}
    assert {"pysync", "boto3", "uvicorn"} <= packages
    assert not packages & {"pip", "build", "hatchling", "pyspark", "moto", "pytest"}
    assert not (sidecar_image.rootfs / "src").exists()
    programs = {
        path.name for place in ("usr/bin", "usr/local/bin") for path in (sidecar_image.rootfs / place).iterdir()
    }
    assert not programs & {"gcc", "java", "javac", "make", "git", "curl"}
    assert not list((sidecar_image.rootfs / "var/lib/apt/lists").iterdir())


def test_its_user_may_change_no_file_of_it(sidecar_image: Image) -> None:
    uid, gid = sidecar_image.user
    mine = []
    for path in (sidecar_image.rootfs / "opt").rglob("*"):
        found = path.lstat()
        open_to_all = found.st_mode & stat.S_IWOTH and not stat.S_ISLNK(found.st_mode)
        if found.st_uid == uid or found.st_gid == gid or open_to_all:
            mine.append(str(path.relative_to(sidecar_image.rootfs)))
    assert mine == ["opt/pysync-listener"]  # the place of a volume


def test_the_places_of_configuration_token_and_queue_are_empty(sidecar_image: Image) -> None:
    for place in ("etc/pysync", "run/pysync", "var/lib/pysync", "opt/pysync-listener"):
        assert list((sidecar_image.rootfs / place).iterdir()) == []


def test_sigterm_ends_the_sidecar_in_order(contain: Contain, sidecar_image: Image, places: list[Mount]) -> None:
    container = contain(sidecar_image, sidecar_image.command, mounts=places)
    wait_until(lambda: "sidecar_started" in container.log_text(), what=f"a start: {container.log_text()}")
    assert Path(f"/proc/{container.pid}/comm").read_text() == "tini\n"
    began = time.monotonic()
    container.signal(signal.SIGTERM)
    assert container.wait(20) == 0
    say(f"SIGTERM ended the sidecar with 0 after {time.monotonic() - began:.1f} s")
    assert container.log_text().count("sidecar_stopped") == 1


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_sigterm_during_the_start_is_not_lost(
    contain: Contain, sidecar_image: Image, places: list[Mount], seconds: float
) -> None:
    container = contain(sidecar_image, sidecar_image.command, mounts=places)
    wait_until(lambda: Path(f"/proc/{container.pid}/comm").read_text() == "tini\n", what="tini")
    time.sleep(seconds)
    container.signal(signal.SIGTERM)
    assert container.wait(20) in {0, 128 + signal.SIGTERM}, container.log_text()


def test_a_process_whose_parent_ended_is_reaped(contain: Contain, sidecar_image: Image, places: list[Mount]) -> None:
    container = contain(sidecar_image, sidecar_image.command, mounts=places)
    wait_until(lambda: "sidecar_started" in container.log_text(), what="a start")
    container.execute(["sh", "-c", "(sleep 0.2; exit 3) & exit 0"])
    time.sleep(0.5)
    states = container.execute(["sh", "-c", "cat /proc/[0-9]*/stat"]).stdout
    assert not re.search(r"\) Z ", states), states


def test_a_container_that_is_killed_leaves_no_process(
    contain: Contain, sidecar_image: Image, places: list[Mount]
) -> None:
    """Of these tests themselves: a sidecar that goes on would be in the way of the next one."""
    container = contain(sidecar_image, sidecar_image.command, mounts=places)
    first = container.pid
    wait_until(lambda: "sidecar_started" in container.log_text(), what="the start of the sidecar")
    container.kill()
    wait_until(lambda: is_gone(first), seconds=10, what="the end of the first process of the container")


def is_gone(process: int) -> bool:
    """Whether a process has ended; the machine may not have reaped it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_wrong_configuration_ends_it_with_2_and_one_line(
    contain: Contain, sidecar_image: Image, places: list[Mount], tmp_path: Path
) -> None:
    (tmp_path / "etc" / "pysync.toml").write_text(ALONE.replace("port", "prot"))
    container = contain(sidecar_image, sidecar_image.command, mounts=places)
    assert container.wait() == 2
    assert "web.prot: unknown key" in container.log_text()


def test_the_set_up_of_compose_can_run_again(contain: Contain, sidecar_image: Image, tmp_path: Path) -> None:
    setup = COMPOSE["services"]["setup"]
    tmp_path.chmod(0o755)
    mounts = []
    for name, target in (text.split(":") for text in setup["volumes"]):
        (tmp_path / name).mkdir(mode=0o700)  # a new volume gets owner and mode of the image's directory
        os.chown(tmp_path / name, *sidecar_image.user)
        mounts.append(Mount(tmp_path / name, target))
    command = [word.replace("$$", "$") for word in setup["entrypoint"]]
    found = []
    for _ in range(2):
        container = contain(sidecar_image, command, mounts=mounts)
        assert container.wait() == 0, container.log_text()
        jar = tmp_path / "listener" / "pysync-listener.jar"
        found.append(((tmp_path / "run" / "token").read_text(), jar.stat().st_ino))
    (token, jar_before), (token_again, jar_after) = found
    assert len(token.strip()) == 64
    assert token_again == token  # who runs has read it
    assert jar_after != jar_before  # beside the one that a running HMS has open
    assert [path.name for path in (tmp_path / "listener").iterdir()] == ["pysync-listener.jar"]


def test_the_owner_of_compose_s_network_ends_at_once(contain: Contain, sidecar_image: Image) -> None:
    container = contain(sidecar_image, COMPOSE["services"]["pod"]["entrypoint"])
    wait_until(lambda: Path(f"/proc/{container.pid}/comm").read_text() == "tini\n", what="tini")
    time.sleep(0.5)
    container.signal(signal.SIGTERM)
    assert container.wait(5) == 128 + signal.SIGTERM


def test_it_needs_little(contain: Contain, sidecar_image: Image, places: list[Mount]) -> None:
    """What the requests of the manifests rest on: an idle sidecar stays far below them."""
    container = contain(sidecar_image, sidecar_image.command, mounts=places)
    wait_until(lambda: "sidecar_started" in container.log_text(), what="a start")
    (python,) = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
    time.sleep(2)
    before = ticks(python)
    time.sleep(10)
    share = (ticks(python) - before) / os.sysconf("SC_CLK_TCK") / 10
    status = Path(f"/proc/{python}/status").read_text()
    megabytes = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]
    say(f"an idle sidecar: {megabytes:.0f} MiB, {share:.1%} of a core")
    assert megabytes < 128
    assert share < 0.05


def ticks(pid: str) -> int:
    """The processor time of a process so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def test_the_demo_runs_in_its_image(contain: Contain, demo_image: Image, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    work.chmod(0o1777)
    began = time.monotonic()
    container = contain(demo_image, demo_image.command, mounts=[Mount(work, "/tmp")])
    assert container.wait(280) == 0, container.log_text()
    say(f"the demo: {time.monotonic() - began:.0f} s\n{container.log_text()}")
    assert "equal" in container.log_text()
