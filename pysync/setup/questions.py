"""The questions of `pysync init`, and the pysync.toml that the answers give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from pysync.base.errors import UsageError
from pysync.base.text import toml_string
from pysync.base.validation import readable
from pysync.config import Config
from pysync.sections import SourceConfig
from pysync.targets.kinds import target_kind

# --- The text of a pysync.toml with one target, composed of the lines and comments of conf/pysync.toml.
#
# conf/pysync.toml has, in this order: the sections; `[[targets]]` with the settings of kind `hms`, a blank line, and
# the settings of all kinds; then for each other kind a comment `# [[targets]]` with its own settings.

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


# --- The questions that `pysync init` asks for a new pysync.toml, and the check of each answer

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


_HIVE_JARS = ("hive-exec-*.jar", "hive-metastore-*.jar", "hive-standalone-metastore-*.jar")
_OF_RELEASE = re.compile(r"hive-[a-z-]+-(2\.3|3\.1|4)(?:\.\d{1,2}){1,2}\.jar")  # vendors' own have longer versions


def hive_version(jars: Path) -> str:
    """The value of `hive_version` for the Hive whose jars are in a directory; "" if they are not of one release."""
    names = [it.name for pattern in _HIVE_JARS for it in jars.glob(pattern)]
    versions = {match[1] if (match := _OF_RELEASE.fullmatch(it)) else "" for it in names}
    return versions.pop() if len(versions) == 1 else ""


def config_values(
    answers: Mapping[str, str], prefixes: Mapping[str, str], *, token: Path, port: int, state: Path
) -> ConfigValues:
    """Return the values for the pysync.toml that these answers describe, without settings that the kind lacks.

    The kind is "" if the target is not asked for.
    """
    kind = answers["target_kind"]
    keys = ["target_name", "target_metastore", "region", "work_group", "staging"]
    keys += ["hive_version"] if kind and "hive_version" in target_kind(kind).settings.model_fields else []
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


# --- The options of `pysync init` that have no effect, because pysync.toml exists and has another value


def ignored(
    config: Config, given: Mapping[str, str], prefixes: Mapping[str, str], *, port: int | None, state: Path | None
) -> list[str]:
    """Return the options whose values differ from `config`. Of several targets the most similar one counts.

    `given` has the answers that were options, `prefixes` the locations. None: the option was not given.
    """
    ignored_keys = [key for key in given if key.startswith("source_") and not _agrees(key, given[key], config.source)]
    differing = [_differing(target, given, prefixes) for target in config.targets]
    nearest = min(differing, key=len)
    ignored_keys += nearest
    ignored_keys += ["bridge_port"] if port not in {None, config.bridge.port} else []
    ignored_keys += ["state_dir"] if state not in {None, config.queue.directory.absolute()} else []
    return [Question(key, "").flag for key in ignored_keys]


def _differing(target: Any, given: Mapping[str, str], prefixes: Mapping[str, str]) -> list[str]:
    keys = (key for key in given if not key.startswith("source_"))
    differing = [key for key in keys if not _agrees(key, given[key], target)]
    return [*differing, "location"] if prefixes.items() - target.locations.items() else differing


def _agrees(key: str, value: str, settings: Any) -> bool:
    """Whether the configuration has that value. An empty answer stands for a key that is not set."""
    configured = getattr(settings, setting(key), None)
    if not value:
        return configured is None
    try:
        return bool(configured is not None and valid(key, value, type(settings)) == configured)
    except (KeyError, ValidationError):
        return False
