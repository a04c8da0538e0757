"""The settings of targets that use Spark, and the one session that they come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from pydantic import ValidationError

from pysync.base.errors import PysyncError, UsageError
from pysync.config import load_config
from pysync.copy.copies import Copies
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutConstraint
from pysync.targets.base import Outcome, Unavailable
from pysync.targets.spark import SparkSettings, spark_target
from pysync.targets.spark_request import SparkConfig

URIS = "spark.hadoop.hive.metastore.uris"
HEAD = '[source]\nname = "here"\nmetastore = "thrift://h:1"\n'
SPARK = '[[targets]]\nname = "{name}"\nkind = "spark"\n{more}\n'
HMS = '[[targets]]\nname = "dr"\nkind = "hms"\nmetastore = "thrift://h:2"\n{more}\n'


def settings(**values: Any) -> SparkSettings:
    return SparkSettings.model_validate({"name": "lake", "kind": "spark", **values})


def test_the_session_has_a_catalog_and_knows_its_metastore() -> None:
    target = settings(metastore="thrift://a:9083", copy={"parallelism": 7})
    target.use_spark(SparkConfig(settings={"spark.x": "y"}))
    request = target.spark_request()
    assert request.catalog
    assert dict(request.settings) == {"spark.x": "y", URIS: "thrift://a:9083"}
    assert request.threads == 7


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"fs.s3a.endpoint": "x"}, "not a Spark property"),
        ({"spark.sql.catalogImplementation": "in-memory"}, "the kinds of the targets decide about it"),
        ({URIS: "thrift://b:1"}, "set metastore of the target of kind spark"),
        ({"spark.hadoop.fs.s3a.bucket.lake.secret.key": "x"}, "looks like a secret"),
        ({"spark.ssl.keyPassword": "x"}, "looks like a secret"),
        ({"spark.master": "yarn"}, "set master"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, str], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        SparkConfig(settings=values)


@pytest.mark.parametrize("key", ["secret.key", "access.key", "session.token"])
def test_secrets_are_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    words = problems(tmp_path, HMS.format(more=f'[spark]\nsettings = {{ "spark.hadoop.fs.s3a.{key}" = "hush" }}'))
    assert "spark.settings: " in words
    assert "looks like a secret; put it into a file in SPARK_CONF_DIR" in words
    assert "hush" not in words
    paths = {
        "spark.hadoop.hadoop.security.credential.provider.path": "jceks://x",
        "spark.authenticate.secret.file": "/x",
    }
    assert SparkConfig(settings=paths).settings == paths, "paths are no secrets"


CLOSED = {"spark.authenticate": "true", "spark.driver.host": "10.0.0.7"}
ANYBODY = "whoever reaches Spark's driver could have it run code; set spark.authenticate = true"
EVERYWHERE = "Spark's driver would listen on every network that this host's name leads to"
LOOPBACK = "Spark on this machine is to listen on loopback; leave out spark.driver."


@pytest.mark.parametrize(
    ("master", "spark", "words"),
    [
        (None, {}, ""),
        ("local[4]", {"spark.authenticate": "TRUE", "spark.driver.host": "localhost"}, ""),
        ("local[4, 2]", {"spark.driver.bindAddress": "::1"}, ""),
        (None, {"spark.network.crypto.enabled": "false", "spark.ui.enabled": "true"}, ""),
        (None, {"spark.authenticate": "false"}, ANYBODY),
        (None, {"spark.driver.bindAddress": "10.0.0.7"}, f"{LOOPBACK}bindAddress = 10.0.0.7"),
        ("local", {"spark.driver.host": "sidecar"}, f"{LOOPBACK}host = sidecar"),
        ("yarn", {}, ANYBODY),
        ("yarn", {"spark.driver.host": "10.0.0.7"}, ANYBODY),
        ("yarn", {"spark.authenticate": "false", "spark.driver.host": "10.0.0.7"}, ANYBODY),
        ("yarn", {"spark.authenticate": "true"}, EVERYWHERE),
        ("yarn", CLOSED, ""),
        ("spark://host:7077", {"spark.authenticate": "true", "spark.driver.bindAddress": "10.0.0.7"}, ""),
        ("local-cluster[2,1,1024]", {}, ANYBODY),
    ],
)
def test_a_session_into_which_anybody_could_get_is_refused(
    tmp_path: Path, master: str | None, spark: dict[str, str], words: str
) -> None:
    set_here = f"master = {json.dumps(master)}\n" if master else ""
    values = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in spark.items())
    found = problems(tmp_path, HMS.format(more="") + f"[spark]\n{set_here}settings = {{ {values} }}\n")
    assert (f": spark: {words}" in found) if words else (found == "")


@pytest.mark.parametrize("more", ['master = "yarn"', "spark = {}", "copy.master = 'yarn'", "copy.spark = {}"])
def test_a_target_has_no_spark_of_its_own(tmp_path: Path, more: str) -> None:
    for target in (SPARK, HMS):
        assert ": unknown key" in problems(tmp_path, target.format(name="lake", more=more))


def test_every_target_uses_the_session_of_the_section(tmp_path: Path) -> None:
    section = '[spark]\nmaster = "local[8]"\nsettings = { "spark.x" = "y" }\n'
    assert (
        problems(tmp_path, SPARK.format(name="lake", more="copy = true"), HMS.format(more="copy = true"), section) == ""
    )
    requests = [it.spark_request() for it in load_config(tmp_path / "pysync.toml").targets]
    assert [(it.master, dict(it.settings), it.catalog) for it in requests if it] == [
        ("local[8]", {"spark.x": "y"}, True),
        ("local[8]", {"spark.x": "y"}, False),
    ]


def problems(directory: Path, *targets: str) -> str:
    file = directory / "pysync.toml"
    file.write_text(HEAD + "".join(targets))
    try:
        load_config(file)
    except UsageError as error:
        return str(error)
    return ""


def test_one_process_has_one_session(tmp_path: Path) -> None:
    one, other = (
        SPARK.format(name=name, more=f'metastore = "thrift://a:1"\ninclude = ["{name}"]\ncopy.parallelism = {threads}')
        for name, threads in (("a", 2), ("b", 3))
    )
    assert problems(tmp_path, one, other) == ""
    assert problems(tmp_path, one, HMS.format(more="copy = true")) == ""
    third = SPARK.format(name="c", more='metastore = "thrift://c:1"')
    assert "this must be the same for all targets of kind spark" in problems(tmp_path, one, third)


def test_copiers_and_targets_share_the_session_and_nothing_is_started(tmp_path: Path) -> None:
    mine = settings(copy=True)
    copies = Copies([mine], tmp_path)
    assert mine.host() is copies.copiers["lake"]._workers.host
    assert mine.host()._session is None
    copies.close()
    alone = settings()
    assert alone.host() is alone.host()
    alone.host().close()
    assert alone == settings()


class _Running:
    """A SparkContext of somebody else's."""

    def getConf(self) -> dict[str, str]:  # noqa: N802, pyspark's
        return {}


def test_a_session_that_somebody_else_has_in_this_process_is_not_taken_for_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark would give it to us, with a catalog that is not the target's."""
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", _Running())
    target = spark_target(settings(metastore="thrift://127.0.0.1:1"))
    with pytest.raises(Unavailable, match="another Spark session runs in this process"):
        target.check()


def test_the_jar_of_the_copy_is_needed_only_where_files_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysync.base.jars._DIRECTORIES", ())
    assert Copies([], tmp_path).copiers == {}
    Copies([settings()], tmp_path).close()
    with pytest.raises(PysyncError, match="the copy jar is not built"):
        Copies([settings(copy=True)], tmp_path)


def test_constraints_are_unsupported_and_ask_nobody() -> None:
    target = spark_target(settings(metastore="thrift://127.0.0.1:1"))
    put = PutConstraint(table=TableName("d", "t"), columns=[], mark=Mark("s", 1, 1))
    assert target.apply(put) is Outcome.UNSUPPORTED
    assert target.constraints(hive.Table(dbName="d", tableName="t")) == {}
    target.close()
