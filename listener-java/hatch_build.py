"""Build hook of the wheel: puts the listener jar into it, so that `pysync jar` finds it once installed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JAR = Path("build") / "pysync-listener.jar"


class ListenerJarHook(BuildHookInterface[Any]):
    """Builds the jar unless `make jar` has, and includes it as pysync/jars/pysync-listener.jar."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install takes the jar from build/, so it needs none here."""
        if version == "editable":
            return
        jar = Path(self.root) / JAR
        if not jar.is_file():
            build = Path(self.root) / "listener-java" / "build.py"
            subprocess.run([sys.executable, str(build), "--output", str(jar)], check=True)
        build_data["force_include"][str(jar)] = "pysync/jars/pysync-listener.jar"
