"""Whatever stands for a value in pysync.toml: a line that names its key, or a value that `pysync check` can look at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from pysync.config import load_partial
from pysync.sections import BridgeConfig, LogConfig, QueueConfig, SourceConfig, VerifyConfig, WebConfig
from pysync.setup.check import check_config
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.glue.settings import GlueSettings
from pysync.targets.hms.settings import HmsSettings
from pysync.targets.settings import CopySettings, TargetSettings
from pysync.targets.spark.settings import SparkSettings
from pysync.targets.spark_request import SparkConfig
from tests.support.examples import some

VALUES = [
    '""',
    '" "',
    '"a x"',
    r'"a\u0000b"',
    r'"a\nb"',
    r'"\u001b[31mred"',
    '"ünïcödé"',
    '"' + "x" * 10_000 + '"',
    '"5 minutes"',
    '"-1"',
    '"99999999999999999999d"',
    '"1 per 0s"',
    '"thrift://"',
    '"thrift://:0"',
    '"thrift://a:99999999"',
    '"http://[::1"',
    '"s3://"',
    "0",
    "-1",
    "9" * 18,
    "1e300",
    "inf",
    "nan",
    "true",
    "1979-05-27",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "[]",
    "[1, [2]]",
    '["", "a.b.c", "*.*"]',
    "{}",
    "{ a = 1 }",
    '{ "" = "" }',
    '{ a = "b" }',
    "{ master = 1, nope = [] }",
]
ODD = re.compile(
    r"Traceback|<class|<[\w.]+ object|PosixPath|\[Errno|Error\(|\bNone\b|datetime|\{'|(?<=[ =(,])b'|Input should"
)

SECTIONS: dict[str, type[BaseModel]] = {
    "source": SourceConfig,
    "bridge": BridgeConfig,
    "queue": QueueConfig,
    "verify": VerifyConfig,
    "web": WebConfig,
    "spark": SparkConfig,
    "log": LogConfig,
}
KINDS: dict[str, tuple[type[BaseModel], dict[str, str]]] = {
    "hms": (HmsSettings, {"metastore": '"thrift://127.0.0.1:1"'}),
    "glue": (GlueSettings, {"region": '"eu-west-1"'}),
    "athena": (AthenaSettings, {"region": '"eu-west-1"', "staging": '"s3://bucket/athena"'}),
    "spark": (SparkSettings, {}),
}


def written(tables: dict[str, dict[str, str]]) -> str:
    return "".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in table.items()) for name, table in tables.items()
    )


def base(place: Path, kind: str = "hms") -> dict[str, dict[str, str]]:
    target = {"name": '"dr"', "kind": f'"{kind}"', **KINDS[kind][1]}
    return {"source": {"name": '"onprem"'}, "queue": {"directory": f'"{place}/queue"'}, "[targets]": target}


def assert_told(file: Path, key: str) -> None:
    """The faults are lines, each with its place."""
    for line in load_partial(file).problems:
        assert re.match(rf"{re.escape(str(file))}(:\d+:\d+)?: \w", line), (key, line)
        assert not ODD.search(line), (key, line)
        assert len(line) < 1000, (key, line[:200])


def names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


@pytest.mark.parametrize(("section", "key"), [(name, key) for name, model in SECTIONS.items() for key in names(model)])
def test_a_value_of_a_section(tmp_path: Path, section: str, key: str) -> None:
    for value in VALUES:
        tables = base(tmp_path)
        tables.setdefault(section, {})[key] = value
        (tmp_path / "pysync.toml").write_text(
            written(dict(sorted(tables.items(), key=lambda it: it[0] == "[targets]")))
        )
        assert_told(tmp_path / "pysync.toml", f"{section}.{key} = {value[:40]}")


# What all kinds have is tried with one.
OF_TARGETS = [
    (kind, key)
    for kind, (model, _) in KINDS.items()
    for key in names(model)
    if kind == "hms" or key not in names(TargetSettings)
]


@pytest.mark.parametrize(("kind", "key"), OF_TARGETS)
def test_a_value_of_a_target(tmp_path: Path, kind: str, key: str) -> None:
    for value in some(VALUES, f"{kind}.{key}"):
        tables = base(tmp_path, kind)
        tables["[targets]"][key] = value
        (tmp_path / "pysync.toml").write_text(written(tables))
        assert_told(tmp_path / "pysync.toml", f"{kind}.{key} = {value[:40]}")


@pytest.mark.parametrize("key", names(CopySettings))
def test_a_value_of_how_files_are_copied(tmp_path: Path, key: str) -> None:
    for value in some(VALUES, f"copy.{key}"):
        tables = {**base(tmp_path), "targets.copy": {key: value}}
        (tmp_path / "pysync.toml").write_text(written(tables))
        assert_told(tmp_path / "pysync.toml", f"copy.{key} = {value[:40]}")


@pytest.mark.parametrize(("section", "key"), [("queue", "directory"), ("bridge", "token_file"), ("bridge", "port")])
def test_what_can_be_read_can_be_looked_at(tmp_path: Path, section: str, key: str) -> None:
    """No server is asked: neither the source nor a target is one that needs it."""
    for value in VALUES:
        tables = base(tmp_path)
        tables.setdefault(section, {})[key] = value
        tables["[targets]"] = {"name": '"dr"', "kind": '"faulty"'}
        (tmp_path / "pysync.toml").write_text(
            written(dict(sorted(tables.items(), key=lambda it: it[0] == "[targets]")))
        )
        for found in check_config(load_partial(tmp_path / "pysync.toml")):
            assert not ODD.search(found.detail), (value[:40], found)
            assert len(found.detail) < 1000 + 2 * len(str(tmp_path))
