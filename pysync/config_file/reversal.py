"""Reversal: the configuration of the way back from a target to its source. Pure: tables of TOML in, text out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pysync.base.errors import UsageError
from pysync.config_file.edits import rendered

_AT_SOURCE = ("metastore", "tls", "kerberos", "login")
_NOT_TAKEN = {*_AT_SOURCE, "catalogs", "name", "kind", "enabled", "cluster", "user", "mode", "out_of_scope"}
_ONE_WAY = ("policies", "include_schemes", "parameters", "drop_parameters")
_BY_HAND = "write the configuration of the way back by hand: docs/operating.md"
_HEAD = """\
# The way back after `pysync promote`: to be pysync.toml beside the metastore that is the source now.
# The sections [bridge], [queue], [spark], [web] and others are as by default: conf/pysync.toml explains them.
"""


def reversed_configuration(source: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """A pysync.toml from the target's metastore to the source's, given their tables in the present one.

    Renames, locations and scope are turned round; other settings of the target stay. Raises UsageError that names a
    setting which has no reverse.
    """
    for key in _ONE_WAY:
        if target.get(key):
            raise UsageError(f"target {target['name']}: {key} has no reverse", _BY_HAND)
    copy = target.get("copy")
    if isinstance(copy, dict) and copy.get("rewrite"):
        raise UsageError(f"target {target['name']}: copy.rewrite has no reverse", _BY_HAND)
    there = {"name": target.get("cluster", target["name"])}
    there |= {key: target[key] for key in _AT_SOURCE if key in target}
    there |= {key: source[key] for key in ("capture",) if key in source}
    back = {"name": source["name"], "kind": "hms"} | {key: source[key] for key in _AT_SOURCE if key in source}
    back |= _catalogs_of(target) | _reversed_names(target)
    back |= {key: it for key, it in target.items() if key not in _NOT_TAKEN and key not in back}
    tables = ("[source]", there), ("[[targets]]", back)
    return _HEAD + "".join(f"\n{header}\n{_lines(table)}" for header, table in tables)


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {rendered(value)}\n" for key, value in table.items())


def _catalogs_of(target: Mapping[str, Any]) -> dict[str, Any]:
    """The catalogs of the source that the target takes, as those that the way back may write in."""
    patterns = [*target.get("include", ()), target.get("policy", "")]
    taken = sorted({name for it in patterns for name in re.findall("@([^@#]+)#", it)})
    return {"catalogs": taken} if taken else {}


def _reversed_names(target: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that name databases, tables and locations, by their names at the other side."""
    turned: dict[str, Any] = {}
    for key in ("databases", "tables", "locations"):
        entries = target.get(key) or {}
        if len(set(entries.values())) < len(entries):
            raise UsageError(f"target {target['name']}: {key} brings two names to one, which has no reverse", _BY_HAND)
        turned |= {key: {new: old for old, new in entries.items()}} if entries else {}
    scope = [key for key in ("include", "exclude", "policy") if target.get(key)]
    if scope and ("tables" in turned or ("databases" in turned and "policy" in scope)):
        raise UsageError(f"target {target['name']}: {scope[-1]} together with renames has no reverse", _BY_HAND)
    if "databases" in turned:
        turned |= {key: [_reversed_pattern(it, target) for it in target[key]] for key in scope}
    return turned


def _reversed_pattern(pattern: str, target: Mapping[str, Any]) -> str:
    """A pattern of `include` or `exclude`, by the names at the target: `db.table`, with * and ? in the table alone."""
    database, dot, table = pattern.partition(".")
    databases = target["databases"]
    if database != "*" and (re.search(r"[*?]", database) or any("*" in it for it in databases)):
        raise UsageError(f"target {target['name']}: {pattern!r} together with renames has no reverse", _BY_HAND)
    return f"{databases.get(database, database)}{dot}{table}"
