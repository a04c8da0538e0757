"""A pysync.toml for one target, made of the lines and comments of conf/pysync.toml.

That file has, in this order: the sections; `[[targets]]` with the settings of a metastore, a blank line, and those of
all kinds; and for each other kind a comment `# [[targets]]` with its own settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pysync.targets.kinds import target_kind
from pysync.text import toml_string

_TABLE = "[[targets]]"
_KEY = re.compile(r'(?:# )?(?P<key>\w+) = (?P<value>"[^"]*"|\{[^}]*\}|[^ #]+)(?P<rest>\s+#.*)?')


@dataclass(frozen=True, slots=True)
class Wish:
    """What a pysync.toml shall say. The values are texts, `locations` are prefixes: source to target."""

    kind: str
    sections: Mapping[str, Mapping[str, str | int]]  # by section and key; what is the default is left a comment
    target: Mapping[str, str] = field(default_factory=dict)  # without `kind`
    locations: Mapping[str, str] = field(default_factory=dict)


def config_text(reference: str, wish: Wish) -> str:
    """The text of the file; `reference` is that of conf/pysync.toml. Raises UsageError for an unknown kind."""
    lines = reference.splitlines()
    at = lines.index(_TABLE)
    general, targets = lines[:at], lines[at:]
    for section, values in wish.sections.items():
        first = general.index(f"[{section}]")
        last = next((n for n in range(first + 1, at) if general[n].startswith("[")), at)
        general[first:last] = _with(general[first:last], values, defaults=True)
    return "\n".join([*general, *_target(targets, wish)]).rstrip() + "\n"


def _target(lines: list[str], wish: Wish) -> list[str]:
    """`[[targets]]` of that kind: its own settings, then those that every kind has."""
    blank = lines.index("")
    examples = lines.index(f"# {_TABLE}") - 1
    hms, common = lines[:blank], lines[blank:examples]
    own = hms
    if wish.kind != "hms":
        own, locations = _of_kind(lines[examples:], wish.kind, _keys(common))
        common = [_instead(line, locations) for line in common]
        comment = hms[1 : next(n for n, line in enumerate(hms) if line.startswith("name = "))]
        own = [_TABLE, *comment, *own]
    own = _with(own, {**wish.target, "kind": wish.kind})
    pairs = ", ".join(f"{toml_string(old)} = {toml_string(new)}" for old, new in wish.locations.items())
    return [*own, *(_placed(line, pairs) for line in common)]


def _of_kind(lines: list[str], kind: str, common: set[str]) -> tuple[list[str], str]:
    """The lines of a kind's own settings, with what other kinds say of the same keys, and its line of locations."""
    known = {it.alias or key for key, it in target_kind(kind).settings.model_fields.items()}
    own, others, locations = list[str](), list[str](), ""
    for example in _examples(lines):
        is_own = any(line.startswith(f'# kind = "{kind}"') for line in example)
        for line in example:
            key = _key(line)
            if key == "locations" and key in known:
                locations = line if is_own else locations or line
            elif is_own and key not in common:
                own.append(line)
            elif key in known - common and key != "kind":
                others.append(line)
    return own + [line for line in others if _key(line) not in _keys(own)], locations


def _examples(lines: list[str]) -> list[list[str]]:
    """The lines below each `# [[targets]]`, up to a blank one."""
    found = list[list[str]]()
    is_within = False
    for line in lines:
        if line == f"# {_TABLE}":
            found.append([])
            is_within = True
        elif not line:
            is_within = False
        elif is_within:
            found[-1].append(line)
    return found


def _with(lines: list[str], values: Mapping[str, str | int], *, defaults: bool = False) -> list[str]:
    """The lines with these values. With `defaults` a comment shows the default, and a value that is that stays one."""
    found, rest = list[str](), dict(values)
    for line in lines:
        key = _key(line)
        found.append(_said(line, rest.pop(key), defaults=defaults) if key in rest else line)
    return found + [f"{key} = {_toml(value)}" for key, value in rest.items()]


def _said(line: str, value: str | int, *, defaults: bool) -> str:
    match = _KEY.fullmatch(line)
    if match is None or (defaults and line.startswith("# ") and match["value"] == _toml(value)):
        return line
    rest = (match["rest"] or "").lstrip()
    said = f"{match['key']} = {_toml(value)}"
    return f"{said.ljust(len(line) - len(rest) - 2)}  {rest}" if rest else said


def _placed(line: str, pairs: str) -> str:
    if _key(line) != "locations":
        return line
    return f"locations = {{ {pairs} }}" if pairs else f"# {line.removeprefix('# ')}"


def _instead(line: str, locations: str) -> str:
    return locations if locations and _key(line) == "locations" else line


def _key(line: str) -> str:
    match = _KEY.fullmatch(line)
    return match["key"] if match else ""


def _keys(lines: list[str]) -> set[str]:
    return {key for key in map(_key, lines) if key}


def _toml(value: str | int) -> str:
    return toml_string(value) if isinstance(value, str) else str(value)
