"""Changes of the targets in pysync.toml, as people name them. Pure: each makes a change of the text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pysync.base.errors import UsageError
from pysync.base.text import meant, quoted
from pysync.base.toml_places import name_parts
from pysync.config_file.edits import number_of, read, with_key, with_table, without_key, without_table
from pysync.config_file.file import Change
from pysync.config_file.statements import Key
from pysync.targets.spark_request import is_secret

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NAME, _KIND = ("name",), ("kind",)


class Setting(NamedTuple):
    """A key of a target, and what to set it to."""

    key: Key
    value: Any


def setting_of(text: str) -> Setting:
    """`KEY=VALUE`: the value is one of TOML, or else a text. Raises UsageError, for a secret, too.

    A message never shows the value.
    """
    key, value = _divided(text)
    parsed = _value(value)
    for name in (*key, ".".join(key), *_names(parsed)):
        if is_secret(name):
            raise UsageError(
                f"{quoted(name)} looks like a secret, and other users see command lines",
                "put it into a file of mode 0600, where docs/security.md says",
            )
    return Setting(key, parsed)


def key_of(text: str) -> Key:
    """A key of a target: `include`, `copy.rewrite`, `locations."hdfs://nn"`. Raises UsageError."""
    try:
        key = name_parts(text)
    except ValueError:
        raise UsageError(
            f"{quoted(text)} is no key of a target",
            'write include, copy.rewrite, or with quotes locations."hdfs://nn/warehouse"',
        ) from None
    if key == _NAME:
        raise UsageError("the name is changed by another command", "pysync target rename OLD NEW")
    if key == _KIND:
        raise UsageError("the kind of a target stays: of another kind it is another target", "pysync target add")
    return key


def added(name: str, kind: str, settings: Sequence[Setting]) -> Change:
    """A target of this name at the end of the file; nothing where the file has the very same."""

    def change(text: str) -> str:
        edited = with_table(text, {"name": name, "kind": kind})
        number = len(read(edited)["targets"]) - 1
        for key, value in settings:
            edited = with_key(edited, number, key, value)
        there = number_of(text, name)
        if there is None:
            return edited
        if read(text)["targets"][there] == read(edited)["targets"][-1]:
            return text
        raise UsageError(f"there is a target {quoted(name)} already", f"change it: pysync target set {name} KEY=VALUE")

    return change


def altered(name: str, settings: Sequence[Setting] = (), unset: Sequence[Key] = ()) -> Change:
    """First without the keys of `unset`, then with the settings."""

    def change(text: str) -> str:
        number = _number_of(text, name)
        for key in unset:
            text = without_key(text, number, key)
        for key, value in settings:
            text = with_key(text, number, key, value)
        return text

    return change


def enabled(name: str) -> Change:
    """A target that is not disabled: a file that does not say so stays as it is."""

    def change(text: str) -> str:
        number = _number_of(text, name)
        is_enabled = read(text)["targets"][number].get("enabled", True)
        return text if is_enabled is True else with_key(text, number, ("enabled",), True)

    return change


def renamed(old: str, new: str) -> Change:
    """The target `old` under the name `new`; nothing where the file has only `new`.

    With both_ways the name was the default of `cluster`, which stays as it was.
    """

    def change(text: str) -> str:
        number, other = number_of(text, old), number_of(text, new)
        if number is None and other is not None:
            return text
        if number is not None and other is not None:
            raise UsageError(f"there is a target {quoted(new)} already", "choose another name")
        number = _number_of(text, old)
        table = read(text)["targets"][number]
        if table.get("both_ways") is True and "cluster" not in table:
            text = with_key(text, number, ("cluster",), old)
        return with_key(text, number, _NAME, new)

    return change


def removed(name: str) -> Change:
    """The file without the target; nothing where it has none of that name."""

    def change(text: str) -> str:
        number = number_of(text, name)
        return text if number is None else without_table(text, number)

    return change


def names_in(text: str) -> list[str]:
    """The names of the targets."""
    listed = read(text).get("targets", [])
    return [str(it.get("name")) for it in listed if isinstance(it, dict)]


def _number_of(text: str, name: str) -> int:
    number = number_of(text, name)
    if number is None:
        raise UsageError(f"there is no target {quoted(name)}", meant(name, names_in(text), "targets"))
    return number


def _divided(text: str) -> tuple[Key, str]:
    """The key, up to the first equals sign that is in no quotes, and the text behind."""
    at = text.find("=")
    while at >= 0:
        try:
            return key_of(text[:at]), text[at + 1 :].strip()
        except UsageError:
            if text[:at].count('"') % 2 == 0 and text[:at].count("'") % 2 == 0:
                raise
        at = text.find("=", at + 1)
    raise UsageError(f"{quoted(text.partition('=')[0])} has no value", "write KEY=VALUE")


def _value(text: str) -> Any:
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return document["value"] if document.keys() == {"value"} else text


def _names(value: Any) -> Iterator[str]:
    """The names of keys within a value."""
    if isinstance(value, dict):
        yield from value
    for it in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names(it)
