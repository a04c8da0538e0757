"""The picture of the demo in README: what a real `pysync demo` printed, as SVG."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 74
# rich's own format names a font on the web. A picture in a repository is to load nothing.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>pysync demo</title>
<style>
.{unique_id}-matrix {{ font-family: "Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def run_demo() -> str:
    """What `pysync demo` prints, with its colours. Raises CalledProcessError if the ends differ."""
    width = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "pysync", "demo"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | width)
    return done.stdout


def draw(printed: str) -> str:
    """The text of a terminal as SVG."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi("$ make demo\n" + printed.rstrip()))
    svg = console.export_svg(title="pysync demo", code_format=SVG, unique_id="demo")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
