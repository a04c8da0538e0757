"""The files that `pysync init` writes: made of those in conf/, and good for what they are for."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import PysyncError
from pysync.config import Config, load_config
from pysync.setup import conf_files
from pysync.setup.conf_files import Service, shipped, unit_text
from pysync.setup.config_text import ConfigValues, config_text
from pysync.setup.questions import KINDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REFERENCE = shipped("pysync.toml")
TARGETS: Mapping[str, Mapping[str, str]] = {
    "hms": {"name": "east", "metastore": "thrift://b:9083"},
    "glue": {"name": "cat", "region": "eu-central-1"},
    "athena": {"name": "cat", "region": "eu-west-1", "staging": "s3://bucket/athena/"},
    "spark": {"name": "far", "metastore": "thrift://c:9083"},
}
SECTIONS: Mapping[str, Mapping[str, str | int]] = {
    "source": {"name": "west", "metastore": "thrift://a:9083"},
    "bridge": {"port": 4711, "token_file": "/x/token"},
    "queue": {"directory": "/x/queue"},
}


def text(kind: str, locations: Mapping[str, str] | None = None) -> str:
    return config_text(REFERENCE, ConfigValues(kind, SECTIONS, TARGETS[kind], locations or {}))


def loaded(written: str, directory: Path) -> Config:
    file = directory / "pysync.toml"
    file.write_text(written, encoding="utf-8")
    return load_config(file)


@pytest.mark.parametrize("kind", KINDS)
def test_it_loads_and_says_what_was_wished_and_nothing_else(kind: str, tmp_path: Path) -> None:
    locations = {"hdfs://a/x": "s3://b/y", "hdfs://a/z": "s3://b/z"}
    found = loaded(text(kind, locations), tmp_path)
    (target,) = found.targets
    assert target.model_dump(include=target.model_fields_set) == {
        **TARGETS[kind],
        "kind": kind,
        "locations": locations,
    }
    assert (found.source.name, found.source.metastore) == ("west", "thrift://a:9083")
    assert (found.bridge.port, str(found.bridge.token_file)) == (4711, "/x/token")
    assert (str(found.queue.directory), tomllib.loads(text(kind)).keys()) == (
        "/x/queue",
        {"source", "bridge", "queue", "journal", "dump", "verify", "web", "spark", "log", "targets"},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_its_comments_are_those_of_the_reference(kind: str) -> None:
    reference = REFERENCE.splitlines()
    comments = [line for line in text(kind).splitlines() if line.startswith("#")]
    commented = [line for line in comments if re.match(r"# locations = ", line) is None]
    assert [line for line in commented if line not in reference] == []
    assert len(comments) > 100
    # What explains a setting is beside it, also where it is one now.
    ends = {line.partition("  # ")[2] for line in reference} | {""}
    assert {line.partition("  # ")[2] for line in text(kind).splitlines()} <= ends


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_that_is_shown_is_one_of_that_kind_and_shown_once(kind: str, tmp_path: Path) -> None:
    known = {it.alias or key for key, it in type(loaded(text(kind), tmp_path).targets[0]).model_fields.items()}
    table = text(kind).partition("\n[[targets]]\n")[2]
    shown = re.findall(r"^(?:# )?(\w+) = ", table, re.MULTILINE)
    others = {"both_ways", "cluster", "relay", "statistics"}
    assert [key for key in shown if key not in known | others] == []
    assert sorted(shown) == sorted(set(shown))
    assert [key for key in known if not re.search(rf"\b{key}\b", table)] == []


def test_what_is_the_default_stays_a_comment() -> None:
    sections = {**SECTIONS, "bridge": {"port": 25333, "token_file": "/etc/pysync/token"}, "queue": {}}
    lines = config_text(REFERENCE, ConfigValues("hms", sections, TARGETS["hms"])).splitlines()
    assert '# token_file = "/etc/pysync/token"' in lines
    assert "# port = 25333" in lines
    assert any(line.startswith("# locations = ") for line in lines)


def test_an_example_is_no_default() -> None:
    """`# region = "eu-west-1"` of the reference is not what pysync takes if it is left out."""
    found = config_text(REFERENCE, ConfigValues("glue", SECTIONS, {"name": "c", "region": "eu-west-1"}))
    assert '\nregion = "eu-west-1"' in found


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=20)


@given(words, words, words)
def test_any_text_comes_back(name: str, old: str, new: str) -> None:
    sections = {**SECTIONS, "source": {"name": name, "metastore": old}}
    found = tomllib.loads(config_text(REFERENCE, ConfigValues("hms", sections, {"name": new}, {old: new, "x": name})))
    assert (found["source"]["name"], found["source"]["metastore"]) == (name, old)
    assert (found["targets"][0]["name"], found["targets"][0]["locations"]) == (new, {old: new, "x": name})


def unit(**differing: object) -> list[str]:
    places = {"executable": Path("/opt/pysync/bin/pysync"), "config": Path("/etc/pysync/pysync.toml")}
    found = {**places, "state": Path("/var/lib/pysync"), "user": "hive", "group": "hive", **differing}
    return unit_text(shipped("pysync.service"), Service(**found)).splitlines()  # type: ignore[arg-type]


def test_a_unit_for_the_places_of_the_reference_is_the_reference() -> None:
    assert unit() == shipped("pysync.service").splitlines()


def test_a_unit_for_other_places_names_them() -> None:
    found = unit(
        executable=Path("/srv/venv/bin/pysync"), config=Path("/etc/p/pysync.toml"), state=Path("/data/p"), user="hms"
    )
    assert "ExecStart=/srv/venv/bin/pysync run -c /etc/p/pysync.toml" in found
    assert "User=hms" in found
    assert "ReadWritePaths=/data/p" in found  # systemd makes its StateDirectory below /var/lib
    assert [line for line in found if line.startswith("StateDirectory")] == []
    assert not any("/opt/pysync" in line or "/var/lib/pysync" in line or "/etc/pysync" in line for line in found)
    assert any(re.fullmatch(r"#   /data/p +the queue .*", line) for line in found)


@pytest.mark.parametrize(
    ("differing", "line"),
    [
        ({"has_spark": True}, "MemoryDenyWriteExecute=false"),
        ({"has_spark": True}, "ProcSubset=all"),
        ({}, "MemoryDenyWriteExecute=true"),
    ],
)
def test_the_service_may_do_what_it_has_to(differing: Mapping[str, object], line: str) -> None:
    assert line in unit(**differing)


def test_a_file_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(conf_files, "_PLACES", (tmp_path,))
    with pytest.raises(PysyncError, match=r"^conf/pysync\.toml is not installed; install pysync again$"):
        shipped("pysync.toml")
