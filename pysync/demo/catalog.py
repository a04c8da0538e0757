"""A source and a Glue Data Catalog on this machine, compared; needs the extra `aws`."""

from __future__ import annotations

from functools import partial
from typing import Any

from pysync.demo.stage import SOURCE
from pysync.errors import PysyncError
from pysync.metastore import Metastore
from pysync.targets import target_kind
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import Compared, Comparison


def compare(source: str, glue: Any, settings: TargetSettings) -> list[Compared]:
    """The metastore at this address and the catalog of a boto3 client, compared as the settings of the target say."""
    if not isinstance(settings, AwsSettings):
        raise PysyncError(f"target {settings.name!r} is no Glue Data Catalog")
    settings._clients.built["glue"] = glue  # the credentials are in no environment here
    opened = partial(target_kind(settings.kind).open, settings)
    return list(Comparison(partial(Metastore, source), opened, settings, SOURCE, threads=1).run())
