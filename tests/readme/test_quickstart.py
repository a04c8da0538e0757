"""The quickstart of docs/install.md, all its blocks in turn in a copy of the checkout, as a person would paste them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.readme.blocks import shell_blocks
from tests.readme.host import ROOT, copy_checkout

PAGE = ROOT / "docs" / "install.md"
HEADING = "Quickstart: two replications on your machine"
pytestmark = pytest.mark.timeout(1800)


def blocks() -> list[str]:
    return shell_blocks(HEADING, PAGE.read_text())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    copy_checkout(tmp_path / "pysync")
    return tmp_path / "pysync"


def test_the_quickstart_works_as_it_is_written(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = checkout.with_suffix(".sh")
    script.write_text("\n".join(f"echo '== block {number}' $SECONDS\n{it}" for number, it in enumerate(blocks())))
    log = checkout.with_suffix(".log")
    began = time.monotonic()
    with log.open("w") as output:
        # A session of its own: what a block leaves in the background ends with it.
        shell = subprocess.Popen(
            ["bash", "-eum", str(script)],
            cwd=checkout,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL", "AWS"))
            },
        )
        code = shell.wait()
    end_session(shell.pid)
    printed = log.read_text()
    assert code == 0, printed[-5000:]
    assert printed.count("no drift") >= 4, printed  # dr three times, lake once
    assert re.search(r"^orders s3://lab/data/", printed, re.MULTILINE), printed
    assert not (checkout / "lab").exists()
    with capsys.disabled():
        print(f"\nthe quickstart took {time.monotonic() - began:.0f} s")  # noqa: T201 - docs/install.md tells it


def end_session(session: int) -> None:
    """Kill what is left of it."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) == session:
                os.kill(int(process.name), signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_the_page_needs_nothing_that_is_not_there() -> None:
    """It is pasted into a shell of a machine with Python and a JDK."""
    assert shutil.which("java")
    assert blocks()[0].startswith("make dist")
