"""Targets of kind glue on one embedded Glue."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.aws import EmbeddedAws
from pysync.model.names import TableName
from pysync.targets.aws.clients import client, provide
from pysync.targets.aws.inputs import database_input, table_input
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.glue import GlueSettings, glue_target
from pysync.targets.glue.store import GlueStore
from pysync.targets.settings import TargetSettings
from tests.conformance.harness import features_of

_READS = ("Get", "BatchGet", "List")
_POLL = "BatchGetQueryExecution"  # how often it is asked for is a matter of time


class GlueHarness:
    """Targets on a Glue with the rules of AWS that the embedded one knows; credentials are in the environment."""

    kind = "glue"
    features = features_of(GlueStore)
    services: tuple[str, ...] = ("glue",)

    def __init__(self, root: Path) -> None:
        self.writes: list[tuple[str, tuple[Any, ...]]] = []
        self.calls: list[str] = []
        self.aws = EmbeddedAws(root / "aws", athena="athena" in self.services).start()
        self._root = root / "data"
        self._before = dict(os.environ)
        os.environ.update({k: v for k, v in self.aws.environment().items() if k != "AWS_ENDPOINT_URL"})
        self._glue = self.aws.client("glue")
        self._glue.create_database(DatabaseInput={"Name": "default"})
        self._open: list[Any] = []
        first = self._recorded(self.settings())
        self._clients = {service: client(first, service) for service in self.services}

    def settings(self, **values: Any) -> Any:
        """The settings of a target called `dr`."""
        place = {"region": "us-east-1", "endpoint_url": self.aws.url}
        return GlueSettings(**{"name": "dr", "kind": "glue", **place, **values})

    def open(self, **values: Any) -> Any:
        """A new target with these settings; those that need no clients of their own share them: each takes 15 MB."""
        settings = self.settings(**values)
        if values.keys() & AwsSettings.model_fields.keys() <= TargetSettings.model_fields.keys():
            provide(settings, **self._clients)
        else:
            self._recorded(settings)
        target = self.target(settings)
        self._open.append(target)
        return target

    def target(self, settings: Any) -> Any:
        """The target of these settings, without a record of what it writes."""
        return glue_target(settings)

    def new_database(self) -> str:
        return f"db_{secrets.token_hex(5)}"

    def location(self, path: str) -> str:
        return f"s3://bucket/{path}"

    def directory(self, location: str) -> Path:
        return self._root / location.removeprefix("s3://")

    def create(self, item: Any) -> None:
        if isinstance(item, hive.Database):
            self._glue.create_database(DatabaseInput=database_input(item)[0])
        else:
            self._glue.create_table(DatabaseName=item.dbName, TableInput=table_input(item)[0])

    def alter(self, table: Any) -> None:
        self._glue.update_table(DatabaseName=table.dbName, TableInput=table_input(table)[0])

    def functions(self, database: str) -> dict[str, str]:
        found = self._glue.get_user_defined_functions(DatabaseName=database, Pattern=".*")["UserDefinedFunctions"]
        return {function["FunctionName"]: function["ClassName"] for function in found}

    def constraints(self, name: TableName) -> dict[str, list[str]]:
        raise NotImplementedError("Glue has none")

    def close(self) -> None:
        for target in self._open:
            target.close()
        self.aws.stop()
        os.environ.clear()
        os.environ.update(self._before)

    def _recorded(self, settings: Any) -> Any:
        for service in self.services:
            client(settings, service).meta.events.register(f"before-parameter-build.{service}", self._record)
        return settings

    def _record(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name != _POLL:
            self.calls.append(model.name)
        if not model.name.startswith(_READS):
            self.writes.append((model.name, (dict(params),)))
