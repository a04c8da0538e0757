"""What others rely on, as lines: keys, options, names, fields and formats (docs/compatibility.md).

`python -m tests.support.promises` writes tests/data/promises.txt anew; tests/unit/test_promises.py compares. What is
held to the code by tests of its own (metrics, log events, JSON) is read from its page in docs/.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import typer

from pysync.capture import handshake
from pysync.capture.bridge import PROTOCOL
from pysync.cli.app import app
from pysync.cli.commands import SECTIONS
from pysync.dump import manifest, record
from pysync.errors import PysyncError, UsageError
from pysync.journal import file as journal_file
from pysync.model import event, mark
from pysync.queue import schema
from pysync.sections import Sections
from pysync.targets.kinds import GROUP
from pysync.targets.settings import TargetSettings
from pysync.targets.store import Capability, Store

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "data" / "promises.txt"
_JAVA = ROOT / "listener-java" / "src" / "main" / "java" / "org" / "pysync" / "listener"
_TRIALS = {"faulty", *SECTIONS["Try it out"]}
"""The kind of target, and the commands, that are for trials only."""


def promises() -> list[str]:
    """All of them, a line each: what it is of, and the promise."""
    parts = {
        "pysync.toml": configuration(),
        "hive-site.xml": hive_site(),
        "command": [*commands(typer.main.get_command(app)), exit_codes()],
        "json": answers(),
        "metric": [f"{row[0]} {{{row[1]}}}" for row in rows("metrics.md") if row[0].startswith("`pysync_")],
        "log": [f"{row[0]} ({row[1]}): {row[2]}" for row in rows("logs.md")],
        "format": formats(),
        "python": python(),
    }
    return [f"{part}: {' '.join(line.replace('`', '').split())}" for part, lines in parts.items() for line in lines]


def configuration() -> Iterator[str]:
    """Every key with its default and what it may be."""
    yield from keys("", Sections.model_json_schema())
    shared = list(keys("targets[].", TargetSettings.model_json_schema()))
    yield from shared
    kinds: dict[str, list[str]] = {}
    for point in sorted(entry_points(group=GROUP)):
        if point.module.startswith("pysync.") and point.name not in _TRIALS:
            for line in keys("targets[].", point.load().settings.model_json_schema()):
                kinds.setdefault(line, []).append(point.name)
    yield from (f"{line} [kind {', '.join(names)}]" for line, names in kinds.items() if line not in shared)


def keys(prefix: str, schema: Mapping[str, Any], whole: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The keys of a model's JSON schema, those of the models in it and in its lists, too."""
    whole = whole or schema
    for key, said in schema["properties"].items():
        kinds = [resolved(kind, whole) for kind in said.get("anyOf", [said])]
        default = json.dumps(said["default"]) if "default" in said else "required"
        inner = [kind for kind in kinds if "properties" in kind]
        told = ", ".join(sorted({form(kind, whole) for kind in kinds} - {"null"}))
        yield f"{prefix}{key} = {'{…}' if inner and default != 'null' else default} ({told})"
        for kind in inner:
            yield from keys(f"{prefix}{key}.", kind, whole)
        for item in (resolved(kind.get("items", {}), whole) for kind in kinds):
            if "properties" in item:
                yield from keys(f"{prefix}{key}[].", item, whole)


def resolved(kind: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference of a schema leads to."""
    return whole["$defs"][kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind


def form(kind: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """What a value may be: its values, its type with the bounds, or what it is a list of."""
    kind = resolved(kind, whole)
    if "enum" in kind or "const" in kind:
        return " | ".join(map(str, kind.get("enum", [kind.get("const")])))
    bounds = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "pattern": ""}
    text = " ".join([kind["type"], *(f"{sign}{kind[key]}" for key, sign in bounds.items() if key in kind)])
    return f"{text} of {form(kind['items'], whole)}" if "items" in kind else text


def hive_site() -> list[str]:
    """The listener's properties with their defaults."""
    found = re.findall(r'\(conf, "(pysync[\w.]+)", ([^,)]+)', (_JAVA / "Settings.java").read_text())
    return ["hive.metastore.event.listeners = org.pysync.listener.SidecarListener", *(" = ".join(it) for it in found)]


def commands(group: Any, path: str = "pysync") -> Iterator[str]:
    """Every command with its arguments, in order, and its options."""
    arguments = [it for it in group.params if it.param_type_name == "argument"]
    options = [it for it in group.params if it.param_type_name == "option" and not it.hidden]
    told = " ".join(f"{it.name}{'' if it.required else '?'}{'…' if it.nargs == -1 else ''}" for it in arguments)
    yield f"{path} <{told}> {', '.join(sorted(map(option, options)))}"
    for name in group.list_commands(None) if hasattr(group, "list_commands") else ():
        if name not in _TRIALS:
            yield from commands(group.get_command(None, name), f"{path} {name}")


def option(param: Any) -> str:
    """`-c/--config … [PYSYNC_CONFIG]`: its names, whether it takes a value, and the variable that stands for it."""
    names = "/".join([*param.opts, *param.secondary_opts])
    variable = f" [{param.envvar}]" if param.envvar else ""
    return f"{names}{'' if param.is_flag else ' …'}{variable}{' (required)' if param.required else ''}"


def exit_codes() -> str:
    """Those of all commands."""
    return f"exit codes 0, {PysyncError.exit_code} (PysyncError), {UsageError.exit_code} (UsageError)"


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


def answers() -> Iterator[str]:
    """The fields of what `--json` answers, and the words that the pages mark as code there: names and values."""
    for page in ("status.md", "journal.md", "scope.md", "verify.md", "dump.md", "repl.md"):
        for heading, text in sections((ROOT / "docs" / page).read_text()).items():
            if "json" in heading.lower():
                title = re.sub(r" (-c|\[|…).*", "", heading.split("`")[1] if "`" in heading else page)
                title = title.removesuffix(" --json")
                told = rows(page, heading)
                yield from (f"{title}: {told_by(row)}" for row in told)
                beside = words(re.sub(r"^[|].*$", "", text, flags=re.MULTILINE))
                yield from [f"{title}, beside the table:{beside}"] if beside else []


def told_by(row: list[str]) -> str:
    """A row's fields, their type, and the values or inner fields, which a number has none of."""
    names, *kind, meaning = row
    simple = kind and re.match(r"int|number|bool", kind[0])
    return " ".join([names, *kind]) + ("" if simple else words(meaning))


def words(text: str) -> str:
    """Those that are marked as code, once each, in order."""
    found = re.findall(r"`\.?([a-z]\w*(?:\[\])?)`|\"(\w+)\":", text)
    return "".join(f" {word}" for word in dict.fromkeys(name or key for name, key in found))


def formats() -> Iterator[str]:
    """The numbers of what is on disk or on the wire, and which older ones are read."""
    yield f"event {event.VERSION}: {' '.join(event.Kind)}"
    yield f"handshake {handshake.VERSION}, bridge {PROTOCOL}"
    yield f"queue.db {schema.VERSION}, reads {schema._OLDEST}"
    yield f"journal.db {journal_file.VERSION}"
    yield f"dump {record.HEAD.decode().strip()!r}, manifest.json reads {manifest._VERSIONS}"
    for file in ("SpoolFile", "Marker"):
        yield f"{file} {re.findall(r'HEADER = .(.*?)..getBytes', (_JAVA / f'{file}.java').read_text())[0]}"
    yield f"parameters {mark.SOURCE_KEY}, {mark.EVENT_KEY}"


def python() -> Iterator[str]:
    """What a kind of target of one's own needs: what the example imports, and the store's contract."""
    yield f"entry points {GROUP}"
    example = ast.parse((ROOT / "tests" / "example" / "directory_target.py").read_text())
    for node in example.body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pysync."):
            yield f"from {node.module} import {', '.join(it.name for it in node.names)}"
    yield f"Capability {' '.join(it.name for it in Capability)}"
    for name, member in sorted(vars(Store).items()):
        if not name.startswith("_"):
            told = str(inspect.signature(member)).replace("'", "") if callable(member) else ""
            yield f"Store.{name}{told}{' (abstract)' if name in Store.__abstractmethods__ else ''}"


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in promises()))
