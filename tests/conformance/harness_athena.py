"""Targets of kind athena on one embedded Athena, which runs their statements in a real Hive and keeps all in Glue."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pysync.embedded.aws import EmbeddedAws
from pysync.targets.athena import AthenaSettings, AthenaTarget
from pysync.targets.aws.session import client
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.settings import TargetSettings
from tests.conformance.harness_glue import GlueHarness

_READS = ("Get", "BatchGet", "List")


class AthenaHarness(GlueHarness):
    """The rules of AWS that the embedded Athena and Glue know; statements and calls of Glue are written down alike."""

    many = 230
    """Partitions that are more than go into one statement: the embedded Athena takes each statement's whole table."""

    def __init__(self, root: Path) -> None:
        self.writes: list[tuple[str, tuple[Any, ...]]] = []
        self.aws = EmbeddedAws(root / "aws", athena=True).start()
        self._root = root / "data"
        self._before = dict(os.environ)
        os.environ.update({k: v for k, v in self.aws.environment().items() if k != "AWS_ENDPOINT_URL"})
        self._glue = self.aws.client("glue")
        self._glue.create_database(DatabaseInput={"Name": "default"})
        self._open: list[Any] = []
        self._clients = self._recorded(self.settings())._clients

    def settings(self, **values: Any) -> AthenaSettings:
        """The settings of a target called `dr`."""
        place = {"region": "us-east-1", "endpoint_url": self.aws.url, "staging": "s3://staging/results/"}
        return AthenaSettings(**{"name": "dr", "kind": "athena", "poll_seconds": 0.05, **place, **values})

    def open(self, **values: Any) -> AthenaTarget:  # type: ignore[override]
        """A new target with these settings; those that need no clients of their own share them: each takes 15 MB."""
        settings = self.settings(**values)
        if values.keys() & AwsSettings.model_fields.keys() <= TargetSettings.model_fields.keys():
            settings._clients = self._clients
        else:
            self._recorded(settings)
        target = AthenaTarget(settings)
        self._open.append(target)
        return target

    @property
    def statements(self) -> list[str]:
        """The statements among the writes, in their order."""
        return [args[0]["QueryString"] for name, args in self.writes if name == "StartQueryExecution"]

    def _recorded(self, settings: AthenaSettings) -> AthenaSettings:
        for service in ("glue", "athena"):
            client(settings, service).meta.events.register(f"before-parameter-build.{service}", self._record)
        return settings

    def _record(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if not model.name.startswith(_READS):
            self.writes.append((model.name, (dict(params),)))
