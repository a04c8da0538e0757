"""Which tables are refused because they are transactional."""

from __future__ import annotations

import pytest

from pysync.model.names import TableName
from pysync.targets.apply.refusals import refuse_transactional
from pysync.targets.base import Rejected
from tests.conformance.objects import table
from tests.support.events import settings

NAME = TableName("db", "t")


@pytest.mark.parametrize(
    "parameters",
    [{"transactional": "true"}, {"transactional": "TRUE", "transactional_properties": "insert_only"}],
)
def test_of_both_kinds(parameters: dict[str, str]) -> None:
    of = table(NAME, "file:/t", external=False, parameters=parameters)
    with pytest.raises(Rejected, match="is transactional: no engine at the target 'dr' can read it correctly"):
        refuse_transactional(settings(), of)
    refuse_transactional(settings(transactional="metadata"), of)


@pytest.mark.parametrize("parameters", [{}, {"transactional": "false"}])
def test_no_others(parameters: dict[str, str]) -> None:
    refuse_transactional(settings(), table(NAME, "file:/t", parameters=parameters))
