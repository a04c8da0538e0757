"""The class archive of the embedded metastore: Java can keep loaded classes, and loading is a third of a start.

`python -m pysync.lab.archive` makes it (AppCDS, Java 13 and newer), for all who start one in this environment.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pysync.lab import java
from pysync.lab.metastore import EmbeddedMetastore


class _Recorded(EmbeddedMetastore):
    """A metastore that writes the archive when it ends."""

    def __init__(self, directory: Path, archive: Path) -> None:
        super().__init__(directory)
        self._archive = archive

    def _class_archive(self) -> list[str]:
        return [f"-XX:ArchiveClassesAtExit={self._archive}"]


def make() -> Path:
    """Start a metastore once and keep the classes that it took, in place of an earlier archive; takes some 15 s.

    Raises PysyncError when it does not start, OSError when the environment cannot be written. Java says nothing when
    it cannot make an archive: then there is none, and every start takes as long as this one.
    """
    archive = java.class_archive()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        made = Path(directory) / archive.name
        with _Recorded(Path(directory) / "metastore", made):
            pass
        if made.exists():
            made.replace(archive)
    return archive


if __name__ == "__main__":
    make()
