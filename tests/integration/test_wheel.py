"""The wheel: it carries the listener jar and the manual page, and finds the jar once it is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: str, **options: object) -> str:
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_an_installed_wheel_finds_its_listener_jar(tmp_path: Path) -> None:
    run("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), ".", cwd=ROOT)
    (wheel,) = tmp_path.glob("pysync-*.whl")
    installed = tmp_path / "installed"
    run("-m", "pip", "install", "-q", "--no-deps", "--target", str(installed), str(wheel))
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); from pysync.cli import main; main()"
    page = installed / "share" / "man" / "man1" / "pysync.1"
    assert page.read_text() == run("-c", code, "man", cwd=tmp_path)
    found = Path(run("-c", code, "jar", cwd=tmp_path).strip())
    assert found == installed / "pysync" / "jars" / "pysync-listener.jar"
    with zipfile.ZipFile(found) as jar:
        assert "org/pysync/listener/SidecarListener.class" in jar.namelist()
