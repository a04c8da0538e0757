"""Targets of kind athena on one embedded Athena, which runs their statements in a real Hive and keeps all in Glue."""

from __future__ import annotations

from pysync.targets.athena import AthenaSettings, athena_target
from pysync.targets.athena.store import AthenaStore
from pysync.targets.target import StoreTarget
from tests.conformance.harness import features_of
from tests.conformance.harness_glue import GlueHarness


class AthenaHarness(GlueHarness):
    """The rules of AWS that the embedded Athena and Glue know; statements and calls of Glue are written down alike."""

    kind = "athena"
    features = features_of(AthenaStore)
    services = ("glue", "athena")
    many = 230
    """Partitions that are more than go into one statement: the embedded Athena takes each statement's whole table."""

    def settings(self, **values: object) -> AthenaSettings:
        """The settings of a target called `dr`."""
        place = {"region": "us-east-1", "endpoint_url": self.aws.url, "staging": "s3://staging/results/"}
        return AthenaSettings.model_validate({"name": "dr", "kind": "athena", "poll_seconds": 0.05, **place, **values})

    def target(self, settings: AthenaSettings) -> StoreTarget:
        """The target of these settings, without a record of what it writes."""
        return athena_target(settings)

    @property
    def statements(self) -> list[str]:
        """The statements among the writes, in their order."""
        return [args[0]["QueryString"] for name, args in self.writes if name == "StartQueryExecution"]
