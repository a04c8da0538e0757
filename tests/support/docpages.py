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
_END_OF_ARGUMENTS = re.compile(r"\d?[<>]|[|&;]")


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
        found = _LINE.match(self._joined())
        return " ".join((found[1] if found else self.text).split())

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
        """Its program and the arguments: no variables, no `sudo`, nothing from a redirection or a pipe on."""
        every = shlex.split(self._joined(), comments=True)
        words = takewhile(lambda it: not _END_OF_ARGUMENTS.match(it), every)
        found = list(dropwhile(lambda it: re.match(r"\w+=", it), words))
        if found[:1] == ["sudo"]:
            return found[3:] if found[1:2] == ["-u"] else found[1:]
        return found

    def _joined(self) -> str:
        return self.text.partition("\n")[0] if _HEREDOC.search(self.text) else self.text.replace("\\\n", " ")


def prose(text: str) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", text)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")


def shown(page: Path) -> Iterator[Shown]:
    """The command lines of a page: of its `sh` blocks, and what is typed behind a `$` elsewhere."""
    text = page.read_text()
    for block in FENCE.finditer(text):
        headings = _HEADING.findall(prose(text[: block.start()]))
        section = slug(headings[-1].strip()) if headings else ""
        if block[2] == "sh":
            yield from (Shown(page.name, section, it) for it in _commands(dedent(block[3])))
        elif block[2] in {"", "console"}:
            yield from (Shown(page.name, section, it, output) for it, output in _session(dedent(block[3])))


def everything_shown() -> list[Shown]:
    """The command lines of all pages."""
    return [it for page in PAGES for it in shown(page)]


def _commands(block: str) -> Iterator[str]:
    """Lines with what continues them: behind a backslash, up to a closing quote, or to the end of a here-document."""
    lines = iter(block.splitlines())
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        command = [line]
        while command[-1].endswith("\\") or _is_quote_open("\n".join(command)):
            command.append(next(lines))
        if found := _HEREDOC.search(line):
            while command[-1].strip() != found[1]:
                command.append(next(lines))
        yield "\n".join(command)


def _is_quote_open(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _session(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What was typed behind `$`, each with what was printed then."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip().splitlines()
        yield command, tuple(output)


def rows(page: str, section: str = "") -> list[list[str]]:
    """The rows of a page's tables that begin with code, or of one of its sections."""
    text = (ROOT / "docs" / page).read_text()
    text = sections(text)[section] if section else text
    found = [line.strip("|") for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in found]


def sections(text: str) -> dict[str, str]:
    """The parts of a page by their headings, without the code in blocks: commands, which other tests run."""
    parts = re.split(
        r"^## (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def words(text: str) -> str:
    """Those that are marked as code, once each, in order."""
    found = re.findall(r"`\.?([a-z]\w*(?:\[\])?)`|\"(\w+)\":", text)
    return "".join(f" {word}" for word in dict.fromkeys(name or key for name, key in found))
