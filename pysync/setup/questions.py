"""The questions that `pysync init` asks for a new pysync.toml, and the check of each answer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from pysync.base.errors import UsageError
from pysync.base.validation import readable
from pysync.sections import SourceConfig
from pysync.setup.config_text import ConfigValues
from pysync.targets.kinds import target_kind

KINDS = ("hms", "glue", "athena", "spark")

_NAMES = {"hms": "dr", "glue": "catalog", "athena": "lake", "spark": "lake"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question. Its option is `key` with hyphens. It is for targets of `kinds`; if empty, for all."""

    key: str
    text: str
    kinds: tuple[str, ...] = ()
    default: str | None = None  # None: an answer is required

    @property
    def flag(self) -> str:
        """The option that answers it."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def label(self) -> str:
        """The words of the prompt, on the line below `text`."""
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
    Question("work_group", "The Athena work group for the statements; empty for primary.", ("athena",), default=""),
    Question(
        "staging",
        "The location for query results of Athena, s3://bucket/prefix/; empty for the location of the work group.",
        ("athena",),
    ),
    Question(
        "location",
        "A location prefix at the source and at the target, hdfs://a/dir=hdfs://b/dir; empty for none.",
        default="",
    ),
)


def questions(answers: Mapping[str, str]) -> Iterator[Question]:
    """Yield the unanswered questions in order. `answers` may grow meanwhile, and decides what comes next."""
    for it in _QUESTIONS:
        kind = answers.get("target_kind", "")
        if it.key not in answers and (not it.kinds or kind in it.kinds):
            yield replace(it, default=_default_of(it.key, answers))


def missing(answers: Mapping[str, str]) -> list[str]:
    """Return the required options that are missing. If the kind of target is missing: those of every kind."""
    left = [it for it in questions(answers) if it.default is None]
    if "target_kind" in answers:
        return [_flags(it) for it in left]
    of_kinds = [it for it in _QUESTIONS if it.kinds and it.default is None and it.key not in answers]
    return [
        *(it.flag for it in left if it.key != "target_name"),
        *(f"{_flags(it)} ({', '.join(it.kinds)})" for it in of_kinds),
    ]


def problem(key: str, value: str, answers: Mapping[str, str]) -> str | None:
    """Return why an answer is not valid, or None. `answers` are the others, with the kind of target."""
    try:
        if key == "target_kind":
            return _kind_problem(value)
        if key == "location":
            locations([value] if value else [])
        elif value or _default_of(key, answers) != "":
            return _field_problem(key, value, answers.get("target_kind", ""))
    except UsageError as error:
        return str(error)
    return None


def locations(pairs: list[str]) -> dict[str, str]:
    """Parse `source=target` pairs. Raises UsageError for text that is no such pair."""
    prefixes = dict[str, str]()
    for pair in pairs:
        source, _, target = (part.strip() for part in pair.partition("="))
        if not all(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", it) for it in (source, target)):
            raise UsageError(f"{pair!r} is not a pair of locations", "write hdfs://a/dir=hdfs://b/dir")
        prefixes[source] = target
    return prefixes


def config_values(
    answers: Mapping[str, str], prefixes: Mapping[str, str], *, token: Path, port: int, state: Path
) -> ConfigValues:
    """Return the values for the pysync.toml that these answers describe, without settings that the kind lacks.

    The kind is "" if the target is not asked for.
    """
    kind = answers["target_kind"]
    keys = ["target_name", "target_metastore", "region", "work_group", "staging"]
    source = {"name": answers["source_name"], "metastore": answers["source_metastore"]}
    bridge: dict[str, str | int] = {"port": port, "token_file": str(token)}
    return ConfigValues(
        kind,
        {"source": source, "bridge": bridge, "queue": {"directory": str(state)}},
        {setting(it): answers[it] for it in keys if answers.get(it)},
        prefixes,
    )


def setting(key: str) -> str:
    """The key in pysync.toml that an answer becomes, in [source] or [[targets]]."""
    return key.removeprefix("source_").removeprefix("target_")


def valid(key: str, value: str, model: type[BaseModel]) -> Any:
    """The answer as `model`, which checks that part of pysync.toml, stores it. Raises pydantic's ValidationError."""
    annotation: Any = model.model_fields[setting(key)].rebuild_annotation()
    return TypeAdapter(annotation).validate_python(value)


def _flags(question: Question) -> str:
    return f"{question.flag} or --work-group" if question.key == "staging" else question.flag


def _default_of(key: str, answers: Mapping[str, str]) -> str | None:
    kind = answers.get("target_kind", "")
    if key == "target_name":
        return _NAMES.get(kind)
    if key == "target_metastore":
        return "" if kind == "spark" else None
    if key == "region":
        return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if key == "staging":
        return "" if answers.get("work_group") else None
    return next(it.default for it in _QUESTIONS if it.key == key)


def _kind_problem(value: str) -> str | None:
    if value not in KINDS:
        return f"{value!r} is not a kind of target; write {', '.join(KINDS)}"
    target_kind(value)
    return None


def _field_problem(key: str, value: str, kind: str) -> str | None:
    """Check with the model that checks pysync.toml, and return the problem, or None."""
    model: type[BaseModel] = SourceConfig if key.startswith("source_") else target_kind(kind).settings
    if setting(key) not in model.model_fields:
        return f"a target of kind {kind} has no such setting"
    try:
        valid(key, value, model)
    except ValidationError as error:
        return readable(error.errors()[0], model)
    return None
