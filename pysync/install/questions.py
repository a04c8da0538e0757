"""Questions: what `pysync init` has to know for a new pysync.toml, and how each answer is checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pysync.errors import UsageError
from pysync.install.config_text import Wish
from pysync.sections import SourceConfig
from pysync.targets.kinds import target_kind
from pysync.validation import readable

KINDS = ("hms", "glue", "athena", "spark")

_NAMES = {"hms": "dr", "glue": "catalog", "athena": "lake", "spark": "lake"}


@dataclass(frozen=True, slots=True)
class Question:
    """One answer that is wanted: `key` with hyphens is its option; `kinds` are those that it is for, empty: all."""

    key: str
    text: str
    kinds: tuple[str, ...] = ()
    default: str | None = None  # None: an answer is needed

    @property
    def flag(self) -> str:
        """The option that answers it."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def label(self) -> str:
        """What stands before the answer, on a line below the text."""
        return self.key.replace("_", " ")


_QUESTIONS = (
    Question("source_name", "The name of this cluster. It is written into every object at the target: choose it once."),
    Question("source_metastore", "The address of the metastore on this host.", default="thrift://localhost:9083"),
    Question(
        "target_kind",
        "Where changes go: hms (another Hive Metastore), glue or athena (the AWS Glue Data Catalog, by its API or by "
        "Athena), spark (the catalog of a Spark session).",
    ),
    Question("target_name", "The name of the target in status, logs and commands."),
    Question(
        "target_metastore",
        "The address of the target's metastore, thrift://host:9083; for spark, empty is the one in its hive-site.xml.",
        ("hms", "spark"),
    ),
    Question("region", "The AWS region of the Data Catalog, such as eu-west-1.", ("glue", "athena")),
    Question("staging", "The location for query results of Athena, s3://bucket/prefix/.", ("athena",)),
    Question(
        "location",
        "A location prefix at the source and at the target, hdfs://a/dir=hdfs://b/dir; empty for none.",
        default="",
    ),
)


def questions(answers: Mapping[str, str]) -> Iterator[Question]:
    """What is not answered yet, in order; `answers` may grow meanwhile: the kind decides what comes next."""
    for it in _QUESTIONS:
        kind = answers.get("target_kind", "")
        if it.key not in answers and (not it.kinds or kind in it.kinds):
            yield Question(it.key, it.text, it.kinds, _default_of(it.key, kind))


def missing(answers: Mapping[str, str]) -> list[str]:
    """The options that are needed and not given; where the kind of target is, those of each kind, with the kinds."""
    left = [it for it in questions(answers) if it.default is None]
    if "target_kind" in answers:
        return [it.flag for it in left]
    of_kinds = [it for it in _QUESTIONS if it.kinds and it.key not in answers]
    return [
        *(it.flag for it in left if it.key != "target_name"),
        *(f"{it.flag} ({', '.join(it.kinds)})" for it in of_kinds),
    ]


def problem(key: str, value: str, kind: str) -> str | None:
    """What is wrong with an answer; None if it will do. `kind` is that of the target, "" where it is not known."""
    try:
        if key == "target_kind":
            return _kind_problem(value)
        if key == "location":
            locations([value] if value else [])
        elif value or _default_of(key, kind) != "":
            return _field_problem(key, value, kind)
    except UsageError as error:
        return str(error)
    return None


def locations(pairs: list[str]) -> dict[str, str]:
    """`source=target` pairs. UsageError for one that is none."""
    found = dict[str, str]()
    for pair in pairs:
        source, _, target = (part.strip() for part in pair.partition("="))
        if not all(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", it) for it in (source, target)):
            raise UsageError(f"{pair!r} is not a pair of locations", "write hdfs://a/dir=hdfs://b/dir")
        found[source] = target
    return found


def wish(answers: Mapping[str, str], prefixes: Mapping[str, str], *, token: Path, port: int, state: Path) -> Wish:
    """The pysync.toml that these answers describe."""
    kind = answers["target_kind"]
    keys = {"target_name": "name", "target_metastore": "metastore", "region": "region", "staging": "staging"}
    source = {"name": answers["source_name"], "metastore": answers["source_metastore"]}
    bridge: dict[str, str | int] = {"port": port, "token_file": str(token)}
    return Wish(
        kind,
        {"source": source, "bridge": bridge, "queue": {"directory": str(state)}},
        {keys[it]: answers[it] for it in keys if answers.get(it)},
        prefixes,
    )


def _default_of(key: str, kind: str) -> str | None:
    if key == "target_name":
        return _NAMES.get(kind)
    if key == "target_metastore":
        return "" if kind == "spark" else None
    if key == "region":
        return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return next(it.default for it in _QUESTIONS if it.key == key)


def _kind_problem(value: str) -> str | None:
    if value not in KINDS:
        return f"{value!r} is not a kind of target; write {', '.join(KINDS)}"
    target_kind(value)
    return None


def _field_problem(key: str, value: str, kind: str) -> str | None:
    """By the model that checks pysync.toml."""
    model: Any = SourceConfig if key.startswith("source_") else target_kind(kind).settings
    field = key.removeprefix("source_").removeprefix("target_")
    if field not in model.model_fields:
        return f"a target of kind {kind} has no such setting"
    try:
        TypeAdapter(model.model_fields[field].rebuild_annotation()).validate_python(value)
    except ValidationError as error:
        return readable(error.errors()[0], model)
    return None
