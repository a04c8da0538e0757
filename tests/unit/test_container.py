"""The files for containers keep the promises of docs/install.md, and fit each other and pysync.

That the images build and the pod runs is for tests/container, which needs root and minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from pysync import __version__
from pysync.config import Config, load_config
from pysync.setup import listener_settings

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "conf" / "container"
COMPOSE = yaml.safe_load((PLACE / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OBJECTS = {it["kind"]: it for it in yaml.safe_load_all((ROOT / "conf" / "kubernetes" / "metastore.yaml").read_text())}
POD = OBJECTS["StatefulSet"]["spec"]["template"]["spec"]
CONTAINERFILE = (PLACE / "Containerfile").read_text()
IN_KUBERNETES = OBJECTS["ConfigMap"]["data"]
SPOOL = Path("/var/lib/pysync/spool")


def container(name: str) -> Mapping[str, Any]:
    (found,) = [it for it in [*POD["initContainers"], *POD["containers"]] if it["name"] == name]
    return found


def volume_at(mounts: Mapping[str, str], path: str | Path) -> str:
    """The volume that a path lies on; an empty text where it is a file of the image."""
    there = [place for place in map(str, [path, *PurePosixPath(path).parents]) if place in mounts]
    return mounts[there[0]] if there else ""


def in_pod(name: str) -> dict[str, str]:
    """The volumes of a container, by where it sees them."""
    return {it["mountPath"]: it["name"] for it in container(name)["volumeMounts"]}


def in_compose(name: str) -> dict[str, str]:
    split = [text.split(":") for text in SERVICES[name].get("volumes", [])]
    return {target: source for source, target, *_ in split}


@pytest.fixture(params=["kubernetes", "compose"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    if request.param == "compose":
        return load_config(PLACE / "pysync.toml")
    file = tmp_path / "pysync.toml"
    file.write_text(IN_KUBERNETES["pysync.toml"])
    return load_config(file)


@pytest.mark.parametrize(
    "text", [IN_KUBERNETES["hivemetastore-site.xml"], (PLACE / "hivemetastore-site.xml").read_text()]
)
def test_the_metastore_reads_what_hive_site_prints(text: str, config: Config) -> None:
    found = ElementTree.fromstring(text.encode())  # noqa: S314, our own text
    reported = {it.findtext("name"): it.findtext("value") for it in found.iterfind("property")}
    assert reported == listener_settings(config, SPOOL)


def test_metastore_and_sidecar_see_the_same_token(config: Config) -> None:
    token = config.bridge.token_file
    for see in (in_pod, in_compose):
        assert volume_at(see("pysync"), token) == volume_at(see("hms"), token) == "run"
    assert volume_at(in_pod("pysync-setup"), token) == volume_at(in_compose("setup"), token) == "run"


def test_spool_and_queue_outlive_their_containers(config: Config) -> None:
    claims = {it["metadata"]["name"] for it in OBJECTS["StatefulSet"]["spec"]["volumeClaimTemplates"]}
    assert volume_at(in_pod("pysync"), config.queue.directory) == volume_at(in_pod("hms"), SPOOL) == "pysync"
    assert claims == {"pysync", "metastore"}
    assert volume_at(in_compose("pysync"), config.queue.directory) == volume_at(in_compose("hms"), SPOOL) == "state"
    assert COMPOSE["volumes"].keys() == {"listener", "run", "state"}


def test_the_jar_is_put_where_the_metastore_looks() -> None:
    (path,) = [it["value"] for it in container("hms")["env"] if it["name"] == "HADOOP_CLASSPATH"]
    assert path == SERVICES["hms"]["environment"]["HADOOP_CLASSPATH"]
    for see, setup in ((in_pod, "pysync-setup"), (in_compose, "setup")):
        assert volume_at(see("hms"), PurePosixPath(path).parent) == volume_at(see(setup), PurePosixPath(path).parent)
    assert str(PurePosixPath(path).parent) + "/pysync-listener.jar" in container("pysync-setup")["command"][-1]


def test_only_the_set_up_writes_token_and_jar() -> None:
    writable = {
        it["name"]
        for it in [*container("hms")["volumeMounts"], *container("pysync")["volumeMounts"]]
        if "readOnly" not in it
    }
    assert writable == {"pysync", "metastore"}
    mounts = [text for name in ("hms", "pysync") for text in SERVICES[name]["volumes"] if not text.endswith(":ro")]
    assert mounts == ["state:/var/lib/pysync", "state:/var/lib/pysync"]


def test_the_probes_ask_the_port_of_the_configuration(config: Config) -> None:
    asked = [container("pysync")[kind]["exec"]["command"][-1] for kind in ("startupProbe", "livenessProbe")]
    for text in [*asked, SERVICES["pysync"]["healthcheck"]["test"][-1]]:
        compile(text, "probe", "exec")
        assert f'"127.0.0.1", {config.web.port},' in text
        assert '"/live"' in text  # what only a person can mend is no reason for a restart


def test_the_source_is_the_metastore_beside_the_sidecar(config: Config) -> None:
    (port,) = [it["containerPort"] for it in container("hms")["ports"]]
    assert config.source.metastore == f"thrift://127.0.0.1:{port}"
    assert config.queue.directory != SPOOL


def test_the_sidecar_never_decides_whether_the_metastore_is_reached() -> None:
    assert "readinessProbe" not in container("pysync")
    assert OBJECTS["Service"]["spec"]["publishNotReadyAddresses"] is True
    assert [it["port"] for it in OBJECTS["Service"]["spec"]["ports"]] == [9083]


def test_a_start_may_take_as_long_as_systemd_gives_it() -> None:
    probe = container("pysync")["startupProbe"]
    unit = (ROOT / "conf" / "pysync.service").read_text()
    minutes = int(re.search(r"TimeoutStartSec=(\d+)min", unit)[1])  # type: ignore[index]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 60 * minutes


def test_the_pod_is_locked() -> None:
    context = POD["securityContext"]
    assert (context["runAsNonRoot"], context["seccompProfile"]["type"]) == (True, "RuntimeDefault")
    assert context["runAsUser"] == context["runAsGroup"] == context["fsGroup"] == image_user()
    assert context["fsGroupChangePolicy"] == "OnRootMismatch"
    for it in [*POD["initContainers"], *POD["containers"]]:
        assert it["securityContext"]["allowPrivilegeEscalation"] is False
        assert it["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert it["securityContext"].get("readOnlyRootFilesystem", False) is ("pysync" in it["name"])
        assert it["resources"].keys() == {"requests", "limits"}
    assert POD["automountServiceAccountToken"] is POD["enableServiceLinks"] is False


def test_the_token_is_in_memory_and_in_no_object() -> None:
    (run,) = [it for it in POD["volumes"] if it["name"] == "run"]
    assert run["emptyDir"]["medium"] == "Memory"
    assert OBJECTS.keys() == {"Service", "ConfigMap", "StatefulSet"}


def test_one_pod_alone() -> None:
    assert OBJECTS["StatefulSet"]["spec"]["replicas"] == 1


def test_compose_shares_a_network_that_belongs_to_neither() -> None:
    assert SERVICES["hms"]["network_mode"] == SERVICES["pysync"]["network_mode"] == "service:pod"
    assert SERVICES["pod"]["entrypoint"][-2:] == ["sleep", "infinity"]
    assert SERVICES["pod"]["networks"]["default"]["aliases"] == ["hms"]
    published = [text for it in SERVICES.values() for text in it.get("ports", [])]
    assert [text for text in published if not text.startswith("127.0.0.1:")] == []


def test_compose_sets_up_before_it_starts() -> None:
    for name in ("hms", "pysync"):
        assert SERVICES[name]["depends_on"]["setup"]["condition"] == "service_completed_successfully"


def test_compose_locks_its_services() -> None:
    for name, it in SERVICES.items():
        assert it["cap_drop"] == ["ALL"]
        assert it["security_opt"] == ["no-new-privileges:true"]
        if it["image"].startswith("pysync:"):
            assert (it["read_only"], it["user"]) == (True, f"{image_user()}:{image_user()}"), name


def test_the_target_of_compose_is_one_of_its_services() -> None:
    (target,) = load_config(PLACE / "pysync.toml").targets
    address = target.model_dump()["metastore"]
    assert str(address).removeprefix("thrift://").partition(":")[0] in SERVICES


def test_images_are_named_by_version() -> None:
    named = [it["image"] for it in [*POD["initContainers"], *POD["containers"], *SERVICES.values()]]
    assert {name for name in named if name.startswith("pysync:")} == {f"pysync:{__version__}"}
    assert [name for name in [*named, *bases()] if re.search(r":[^:/]*\d[^:/]*$", name) is None] == []


def test_the_last_stage_is_the_sidecar() -> None:
    stages = re.findall(r"^FROM \S+ AS (\S+)$", CONTAINERFILE, re.MULTILINE)
    assert stages[-1] == "sidecar"
    assert "demo" in stages


def test_what_is_not_a_source_does_not_get_into_the_build() -> None:
    first, *let_in = [line for line in ignored() if not line.startswith("#")]
    assert first == "*"
    allowed = {line[1:] for line in let_in if line.startswith("!")}
    assert not {"conf/container", "conf/kubernetes", "**/__pycache__"} - set(let_in)
    assert allowed == {
        ".ci/build.txt",
        ".ci/requirements.txt",
        "LICENSE",
        "README.md",
        "conf",
        "listener-java",
        "pyproject.toml",
        "pysync",
    }
    assert [name for name in allowed if not (ROOT / name).exists()] == []


def ignored() -> Iterator[str]:
    yield from (ROOT / ".dockerignore").read_text().splitlines()


def image_user() -> int:
    found = re.search(r"^ARG UID=(\d+)$", CONTAINERFILE, re.MULTILINE)
    assert found
    return int(found[1])


def bases() -> list[str]:
    """The images that the Containerfile begins with, by their arguments' defaults."""
    return re.findall(r"^ARG \w+_IMAGE=(\S+)$", CONTAINERFILE, re.MULTILINE)
