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

URIS = "spark.hadoop.hive.metastore.uris"
HEAD = '[source]\nname = "here"\nmetastore = "thrift://h:1"\n'
SPARK = '[[targets]]\nname = "{name}"\nkind = "spark"\n{more}\n'
HMS = '[[targets]]\nname = "dr"\nkind = "hms"\nmetastore = "thrift://h:2"\n{more}\n'


def settings(**values: Any) -> SparkSettings:
    return SparkSettings.model_validate({"name": "lake", "kind": "spark", **values})


def test_the_session_has_a_catalog_and_knows_its_metastore() -> None:
    request = settings(metastore="thrift://a:9083", spark={"spark.x": "y"}, copy={"parallelism": 7}).spark_request()
    assert request.catalog
    assert dict(request.settings) == {"spark.x": "y", URIS: "thrift://a:9083"}
    assert request.threads == 7


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"spark": {"fs.s3a.endpoint": "x"}}, "not a Spark property"),
        ({"spark": {"spark.sql.catalogImplementation": "in-memory"}}, "must be hive"),
        ({"copy": {"master": "yarn"}}, "the session of the target copies the files"),
        ({"copy": {"spark": {"spark.x": "y"}}}, "the session of the target copies the files"),
        ({"metastore": "thrift://a:1", "spark": {URIS: "thrift://b:1"}}, "set only one of them"),
        ({"metastore": "a:1"}, "metastore"),
        ({"spark": {"spark.hadoop.fs.s3a.bucket.lake.secret.key": "x"}}, "looks like a secret"),
        ({"spark": {"spark.ssl.keyPassword": "x"}}, "looks like a secret"),
        ({"spark": {"spark.master": "yarn"}}, "set master"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**values)


@pytest.mark.parametrize("key", ["secret.key", "access.key", "session.token"])
def test_secrets_are_refused_wherever_spark_is_set(tmp_path: Path, key: str) -> None:
    """And are not told again."""
    text = f'copy = {{ spark = {{ "spark.hadoop.fs.s3a.{key}" = "hush" }} }}'
    words = problems(tmp_path, HMS.format(more=text))
    assert "looks like a secret; put it into a file in SPARK_CONF_DIR" in words
    assert "hush" not in words
    paths = {
        "spark.hadoop.hadoop.security.credential.provider.path": "jceks://x",
        "spark.authenticate.secret.file": "/x",
    }
    assert settings(spark=paths).spark == paths, "paths are no secrets"


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
    """Wherever it is set: for a target, for its copies, and for a comparison that is spread over Spark."""
    set_here = f"master = {json.dumps(master)}\n" if master else ""
    values = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in spark.items())
    inline = ", ".join([*([set_here.strip()] if set_here else []), f"spark = {{ {values} }}"])
    places = {
        "targets.spark": SPARK.format(name="lake", more=f"{set_here}spark = {{ {values} }}"),
        "targets.copy.spark": HMS.format(more=f"copy = {{ {inline} }}"),
        "spark.settings": HMS.format(more="") + f"[spark]\n{set_here}settings = {{ {values} }}\n",
    }
    for key, text in places.items():
        found = problems(tmp_path, text)
        assert (f"{key}: {words}" in found) if words else (found == ""), key


def test_a_master_of_its_own_with_the_settings_of_the_copies(tmp_path: Path) -> None:
    copying = HMS.format(more='copy = { spark = { "spark.authenticate" = "true" } }')
    assert f"spark.settings: {EVERYWHERE}" in problems(tmp_path, copying, '[spark]\nmaster = "yarn"\n')


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
        SPARK.format(name=name, more=f'metastore = "thrift://a:1"\ninclude = ["{name}"]') for name in ("a", "b")
    )
    assert problems(tmp_path, one, other) == ""
    assert problems(tmp_path, one, HMS.format(more="copy = true")) == ""
    third = SPARK.format(name="c", more='metastore = "thrift://c:1"')
    assert "these must be the same for all targets of kind spark" in problems(tmp_path, one, third)
    copying = HMS.format(more='copy = { master = "local[8]" }')
    assert "a sidecar has one Spark session" in problems(tmp_path, one, copying)


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
