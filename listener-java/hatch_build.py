"""Build hook of wheel and sdist: puts both jars into them, and into the wheel what is needed on a host.

That is conf/, for `pysync init`, and the pages of docs/, for `pysync docs`.

The jars are built from the sources. Where no JDK is, those are taken that an sdist brings along.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMES = ("pysync-listener.jar", "pysync-copy.jar")
DIRECTORIES = {"wheel": "pysync/jars", "sdist": "listener-java"}


class JarsHook(BuildHookInterface[Any]):
    """The wheel has the jars where pysync looks for them (pysync/base/jars.py), the sdist beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install takes the jars from build/, so it needs none here."""
        if version != "editable":
            self.work = TemporaryDirectory(prefix="pysync-build-")
            included = build_data["force_include"]
            jars = self.jars(Path(self.work.name))
            included.update({str(jars / name): f"{DIRECTORIES[self.target_name]}/{name}" for name in NAMES})
            if self.target_name == "wheel":
                included[str(Path(self.root) / "conf")] = "pysync/conf"
                pages = sorted((Path(self.root) / "docs").glob("*.md"))
                included.update({str(page): f"pysync/docs/{page.name}" for page in pages})

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """They are in the archive now."""
        if version != "editable":
            self.work.cleanup()

    def jars(self, work: Path) -> Path:
        """A directory with jars of these sources. Ends the process if there can be none: a traceback would bury why."""
        brought = Path(self.root) / DIRECTORIES["sdist"]
        if all((brought / name).is_file() for name in NAMES) and self.build("--check-jdk", quiet=True):
            return brought
        code = self.build("--output", str(work))
        if code:
            sys.exit(code)
        return work

    def build(self, *arguments: str, quiet: bool = False) -> int:
        """The exit code of build.py, which says itself what is missing."""
        command = [sys.executable, str(Path(self.root) / "listener-java" / "build.py"), *arguments]
        complaints = subprocess.DEVNULL if quiet else None
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=complaints).returncode
