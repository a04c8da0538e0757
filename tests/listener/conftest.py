"""One metastore with the listener for each module that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.listener.driver import Place, compile_driver
from tests.listener.stand import BUILD, COPY_JAR, JAR, Stand, build_jars
from tests.support.powercut import LoopDisk
from tests.support.tmpfs import CannotMount


@pytest.fixture(scope="session")
def jar() -> Path:
    """The listener's jar of `make jar`; both are built anew if one is missing or older than a source."""
    sources = [*BUILD.parent.glob("*.py"), *BUILD.parent.rglob("*.java")]
    built = [jar.stat().st_mtime for jar in (JAR, COPY_JAR) if jar.is_file()]
    if len(built) < 2 or max(source.stat().st_mtime for source in sources) > min(built):
        build_jars()
    return JAR


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, jar: Path, request: pytest.FixtureRequest) -> Iterator[Stand]:
    """A metastore that was started while there was no sidecar, with the OVERRIDES of the module, if it has any."""
    overrides = getattr(request.module, "OVERRIDES", {})
    stand = Stand(tmp_path_factory.mktemp("listener") / "stand", jar, overrides)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JDK_JAVA_OPTIONS", "-Xverify:all")
            stand.server.start()
        yield stand
    finally:
        stand.close()


@pytest.fixture
def stand(running: Stand) -> Iterator[Stand]:
    """It, with a bridge that takes events; whatever a test did to them is undone."""
    running.bridge.start()
    running.settle()
    yield running
    running.bridge.answer = lambda _event: "queued"
    running.bridge.stop()


@pytest.fixture(scope="session")
def driver_classes(tmp_path_factory: pytest.TempPathFactory, jar: Path) -> Path:
    """The compiled driver."""
    classes = tmp_path_factory.mktemp("driver")
    compile_driver(classes, jar)
    return classes


@pytest.fixture
def place(tmp_path: Path, driver_classes: Path, jar: Path) -> Iterator[Place]:
    """Where JVMs with the listener but without a metastore run; the bridge is not started."""
    place = Place(tmp_path, driver_classes, jar)
    yield place
    place.close()


@pytest.fixture
def disk(place: Place) -> Iterator[LoopDisk]:
    """A disk of its own for the spool of the place."""
    try:
        made = LoopDisk(place.directory / "disk.img", place.directory / "disk", 64)
    except CannotMount as error:
        pytest.skip(str(error))
    with closing(made):
        place.spool = made.directory / "spool"
        yield made
