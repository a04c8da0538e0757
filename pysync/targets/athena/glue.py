"""The Glue side of an Athena target: what there is, and what no statement says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.aws.errors import classified
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.aws.translate import table_of
from pysync.targets.glue.session import GlueSettings
from pysync.targets.glue.target import GlueTarget


class GlueSide(GlueTarget):
    """A Glue target with the settings, and the clients, of an Athena target."""

    def __init__(self, settings: AthenaSettings) -> None:
        super().__init__(glue_settings(settings))

    def definitions(self, database: str) -> Iterator[Any]:
        """The database's tables and views (hmsclient's Table)."""
        with classified(f"cannot list the tables of {database} on {self._where}", reading=True):
            yield from map(table_of, self._catalog.tables(database))


def glue_settings(settings: AthenaSettings) -> GlueSettings:
    """What the Glue API is used with: the same account, place, credentials and rules."""
    common = settings.model_dump(by_alias=True, include=AwsSettings.model_fields.keys() - {"kind"})
    found = GlueSettings(kind="glue", **common)
    found._clients = settings._clients  # one pool of connections and one rate for all that a target does
    return found
