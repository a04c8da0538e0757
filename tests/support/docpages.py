"""What README.md and docs/*.md show: their code blocks, and the command lines in these."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINE = re.compile(r"""((?:'[^']*'|"[^"]*"|[^'"])*?)(?:\s+#(?:\s+(.*))?)?$""")  # and its comment
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")
_ENDS_OF_A_COMMAND = frozenset({">", "|", "&&", ";", "||"})


@dataclass(frozen=True, slots=True)
class Shown:
    """A command line of a page: `text` as it stands there, and the lines of output that the page shows below it."""

    page: str
    section: str  # the anchor of the heading that it is below
    text: str
    output: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """In one line, without comments and continuations; of a here-document its first line."""
        lines = self.text.splitlines()[: 1 if _HEREDOC.search(self.text) else None]
        parts = [found[1] if (found := _LINE.match(line)) else line for line in lines]
        return " ".join(part.strip().removesuffix("\\").strip() for part in parts)

    @property
    def name(self) -> str:
        """How tables of commands call it: `status.md: pysync status --json`."""
        return f"{self.page}: {self.command}"

    @property
    def comment(self) -> str:
        """What stands behind the `#` of a command of one line."""
        found = _LINE.match(self.text)
        return (found[2] or "").strip() if found else ""

    def words(self) -> list[str]:
        """The words of its program, which is the first one: no `sudo`, no variables, nothing behind a pipe."""
        words = takewhile(lambda it: it not in _ENDS_OF_A_COMMAND, shlex.split(self.text, comments=True))
        return list(dropwhile(lambda it: it == "sudo" or re.match(r"[A-Z_0-9]+=", it), words))


def prose(text: str) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", text)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")


def shown(page: Path) -> Iterator[Shown]:
    """The command lines of a page: of its `sh` blocks, and those behind a `$` in blocks without a language."""
    text = page.read_text()
    for block in FENCE.finditer(text):
        headings = _HEADING.findall(prose(text[: block.start()]))
        section = slug(headings[-1].strip()) if headings else ""
        if block[2] == "sh":
            yield from (Shown(page.name, section, it) for it in _commands(dedent(block[3])))
        elif not block[2]:
            yield from (Shown(page.name, section, it, output) for it, output in _session(dedent(block[3])))


def everything_shown() -> list[Shown]:
    """The command lines of all pages."""
    return [it for page in PAGES for it in shown(page)]


def _commands(block: str) -> Iterator[str]:
    """Lines with what continues them: behind a backslash, or up to the end of a here-document."""
    lines = iter(block.splitlines())
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        command = [line]
        while command[-1].endswith("\\"):
            command.append(next(lines))
        if found := _HEREDOC.search(line):
            while command[-1].strip() != found[1]:
                command.append(next(lines))
        yield "\n".join(command)


def _session(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What was typed behind `$`, each with what was printed then."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip().splitlines()
        yield command, tuple(output)
