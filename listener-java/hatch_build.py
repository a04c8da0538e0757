"""Build hook of wheel and sdist: puts the listener jar into them, and conf/ into the wheel, for `pysync init`.

The jar is built from the sources. Where no JDK is, the jar is taken that an sdist brings along.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "pysync-listener.jar"
PLACES = {"wheel": f"pysync/jars/{NAME}", "sdist": f"listener-java/{NAME}"}


class ListenerJarHook(BuildHookInterface[Any]):
    """The wheel has the jar where `pysync jar` finds it, the sdist beside its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install takes the jar from build/, so it needs none here."""
        if version != "editable":
            self.work = TemporaryDirectory(prefix="pysync-build-")
            included = build_data["force_include"]
            included[str(self.jar(Path(self.work.name)))] = PLACES[self.target_name]
            if self.target_name == "wheel":
                included[str(Path(self.root) / "conf")] = "pysync/conf"

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """It is in the archive now."""
        if version != "editable":
            self.work.cleanup()

    def jar(self, work: Path) -> Path:
        """A jar of these sources. Ends the process where there is no way to it: a traceback would bury the reason."""
        brought = Path(self.root) / PLACES["sdist"]
        if brought.is_file() and self.build("--check-jdk", quiet=True):
            return brought
        code = self.build("--output", str(work / NAME))
        if code:
            sys.exit(code)
        return work / NAME

    def build(self, *arguments: str, quiet: bool = False) -> int:
        """The exit code of build.py, which says itself what is missing."""
        command = [sys.executable, str(Path(self.root) / "listener-java" / "build.py"), *arguments]
        complaints = subprocess.DEVNULL if quiet else None
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=complaints).returncode
