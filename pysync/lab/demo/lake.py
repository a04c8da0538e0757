"""The demo's other kind of target: a Glue Data Catalog on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pysync.lab import free_port
from pysync.targets.settings import TargetSettings

LakeKind = Literal["glue", "athena"]

_LAKE_TARGET = """\
name = "replica"
kind = "{kind}"
region = "{region}"
endpoint_url = "{url}"
locations = {{ "file:{warehouse}" = "s3://pysync-demo/warehouse" }}
"""
_ATHENA = """\
staging = "s3://pysync-demo/athena/"
poll_seconds = 0.1
"""


class Lake:
    """An embedded Glue, with an Athena that runs DDL if the target is of that kind."""

    def __init__(self, directory: Path, kind: LakeKind) -> None:
        from pysync.lab.aws import EmbeddedAws  # noqa: PLC0415, an extra

        port = free_port()
        self.kind = kind
        self.aws = EmbeddedAws(directory, port=port, athena=kind == "athena")
        self._url = f"http://127.0.0.1:{port}"

    def start(self) -> None:
        """Start it."""
        self.aws.start()

    def stop(self) -> None:
        """End it; it forgets everything. Harmless if it does not run."""
        self.aws.stop()

    def lines(self, warehouse: Path) -> str:
        """The lines of the `[[targets]]` table, for a source whose warehouse is there."""
        text = _LAKE_TARGET.format(kind=self.kind, region=self.aws.region, url=self._url, warehouse=warehouse)
        return text + (_ATHENA if self.kind == "athena" else "")

    def environment(self) -> dict[str, str]:
        """The environment in which the sidecar finds its credentials, and none of the user's own."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**inherited, **self.aws.environment()}

    def reached(self, settings: TargetSettings) -> TargetSettings:
        """The same settings, able to reach the catalog from this process, whose environment has no credentials."""
        from pysync.targets.aws.clients import provide  # noqa: PLC0415, an extra

        provide(settings, glue=self.aws.client("glue"))
        return settings
