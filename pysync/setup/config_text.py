"""The text of a pysync.toml with one target, composed of the lines and comments of conf/pysync.toml.

conf/pysync.toml has, in this order: the sections; `[[targets]]` with the settings of kind `hms`, a blank line, and the
settings of all kinds; then for each other kind a comment `# [[targets]]` with its own settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pysync.base.text import toml_string
from pysync.targets.kinds import target_kind

_TABLE = "[[targets]]"
_KEY = re.compile(r'(?:# )?(?P<key>\w+) = (?P<value>"[^"]*"|\{(?:[^{}]|\{[^}]*\})*\}|[^ #]+)(?P<rest>\s+#.*)?')


@dataclass(frozen=True, slots=True)
class ConfigValues:
    """The values for a pysync.toml. `locations` maps prefixes at the source to prefixes at the target."""

    kind: str
    sections: Mapping[str, Mapping[str, str | int]]  # by section and key; a default value stays a comment
    target: Mapping[str, str] = field(default_factory=dict)  # without `kind`
    locations: Mapping[str, str] = field(default_factory=dict)


def config_text(reference: str, values: ConfigValues) -> str:
    """Return the text of a pysync.toml. `reference` is the text of conf/pysync.toml.

    Raises UsageError for an unknown kind of target.
    """
    lines = reference.splitlines()
    at = lines.index(_TABLE)
    general, targets = lines[:at], lines[at:]
    for section, settings in values.sections.items():
        first = general.index(f"[{section}]")
        last = next((n for n in range(first + 1, at) if general[n].startswith("[")), at)
        general[first:last] = _with(general[first:last], settings, defaults=True)
    return "\n".join([*general, *_target(targets, values)]).rstrip() + "\n"


def _target(lines: list[str], values: ConfigValues) -> list[str]:
    """Return the lines of `[[targets]]`: the settings of the kind, then the settings of all kinds."""
    blank = lines.index("")
    examples = lines.index(f"# {_TABLE}") - 1
    hms, common = lines[:blank], lines[blank:examples]
    own = hms
    if values.kind != "hms":
        own, locations = _kind_lines(lines[examples:], values.kind, _keys(common))
        common = [_replaced(line, locations) for line in common]
        comment = hms[1 : next(n for n, line in enumerate(hms) if line.startswith("name = "))]
        own = [_TABLE, *comment, *own]
    own = _with(own, {**values.target, "kind": values.kind})
    pairs = ", ".join(f"{toml_string(old)} = {toml_string(new)}" for old, new in values.locations.items())
    return [*own, *(_with_locations(line, pairs) for line in common)]


def _kind_lines(lines: list[str], kind: str, common: set[str]) -> tuple[list[str], str]:
    """Return the lines of the kind's own settings, and its line `locations`.

    A setting that only the example of another kind shows comes from there, if this kind has it, too.
    """
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
    """Return the lines below each `# [[targets]]`, up to the next blank line."""
    examples = list[list[str]]()
    is_within = False
    for line in lines:
        if line == f"# {_TABLE}":
            examples.append([])
            is_within = True
        elif not line:
            is_within = False
        elif is_within:
            examples[-1].append(line)
    return examples


def _with(lines: list[str], values: Mapping[str, str | int], *, defaults: bool = False) -> list[str]:
    """Return the lines with these values set; a key without a line gets one at the end.

    With `defaults`, comments show default values, and a value that equals its default stays a comment.
    """
    commands, rest = list[str](), dict(values)
    for line in lines:
        key = _key(line)
        commands.append(_set(line, rest.pop(key), defaults=defaults) if key in rest else line)
    return commands + [f"{key} = {_toml(value)}" for key, value in rest.items()]


def _set(line: str, value: str | int, *, defaults: bool) -> str:
    match = _KEY.fullmatch(line)
    if match is None or (defaults and line.startswith("# ") and match["value"] == _toml(value)):
        return line
    comment = (match["rest"] or "").lstrip()
    setting = f"{match['key']} = {_toml(value)}"
    return f"{setting.ljust(len(line) - len(comment) - 2)}  {comment}" if comment else setting


def _with_locations(line: str, pairs: str) -> str:
    if _key(line) != "locations":
        return line
    return f"locations = {{ {pairs} }}" if pairs else f"# {line.removeprefix('# ')}"


def _replaced(line: str, locations: str) -> str:
    return locations if locations and _key(line) == "locations" else line


def _key(line: str) -> str:
    match = _KEY.fullmatch(line)
    return match["key"] if match else ""


def _keys(lines: list[str]) -> set[str]:
    return {key for key in map(_key, lines) if key}


def _toml(value: str | int) -> str:
    return toml_string(value) if isinstance(value, str) else str(value)
