from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.views.bring import bring
from tests.views.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory: Path = tmp_path_factory.mktemp("views")
    with World(bring(), directory) as found:
        yield found
