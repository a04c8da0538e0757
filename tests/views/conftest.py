from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.views.world import World


@pytest.fixture(scope="session")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """That of the judge which the test names as its parameter."""
    directory: Path = tmp_path_factory.mktemp("views")
    with World(request.param, directory) as found:
        yield found
