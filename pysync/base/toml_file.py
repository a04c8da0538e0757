"""A TOML file: what it says, checked by models; every problem has its place in the text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pysync.base.errors import UsageError
from pysync.base.files import content
from pysync.base.toml_places import Place, fault, place_of, places
from pysync.base.validation import readable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

M = TypeVar("M", bound=BaseModel)


def read_text(path: Path) -> str:
    """The text of a TOML file, with its ends of lines as they are. Raises UsageError if it cannot be read."""
    try:
        return content(path).decode()
    except OSError as error:
        makes = "pysync init makes one; or " if isinstance(error, FileNotFoundError) else ""
        hint = f"{makes}name the configuration file: -c FILE, or PYSYNC_CONFIG in the environment"
        raise UsageError(f"cannot read {path}: {error.strerror}", hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML: byte {error.start + 1} is not UTF-8") from error


def tables_in(text: str, path: Path) -> dict[str, Any]:
    """What the text of the file at `path` says. Raises UsageError if it is not TOML."""
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place, message = fault(str(error))
        raise UsageError(f"{path}{_shown(place)} is not TOML: {message}") from error
    return tables


def checked(model: type[M], table: dict[str, Any], where: str, problems: list[str]) -> M | None:
    """A table as its model. Where it does not fit: None, and its faults are added to `problems`."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problems += [f"{_key(where, item['loc'])}: {readable(item, model)}" for item in error.errors()]
        return None


def refusal(path: Path, text: str, problems: list[str]) -> UsageError:
    """All of the problems of a file, one a line, in the order of the file: `pysync.toml:7:1: targets[0].lanes: …`."""
    keys = places(text)
    placed = [(place_of(problem.partition(": ")[0], keys), problem) for problem in problems]
    placed.sort(key=lambda it: it[0] or (sys.maxsize, 0))
    return UsageError("\n".join(f"{path}{_shown(at)}: {problem}" for at, problem in placed))


def _shown(place: Place | None) -> str:
    return "".join(f":{number}" for number in place or ())


def _key(where: str, location: tuple[int | str, ...]) -> str:
    """`targets[0].locations`: the key as a person finds it in the file."""
    text = where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".")
