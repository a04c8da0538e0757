"""What a store is, and what it says that it lacks, go together."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.targets.spark import SparkSettings
from pysync.targets.spark.store import SparkStore
from pysync.targets.store import Capability


class SaysNothing(SparkStore):
    lacks = {it: why for it, why in SparkStore.lacks.items() if it is not Capability.CONSTRAINTS}  # noqa: RUF012


class SaysTooMuch(SparkStore):
    lacks = {**SparkStore.lacks, Capability.FUNCTIONS: "it has none"}  # noqa: RUF012


@pytest.mark.parametrize(("kind", "part"), [(SaysNothing, "a HasConstraints"), (SaysTooMuch, "a HasFunctions")])
def test_a_store_is_what_it_does_not_lack(kind: Any, part: str) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__} must either be {part}, or say in `lacks` why"):
        kind(SparkSettings(name="dr", kind="spark", metastore="thrift://h:1"))
