"""The questions of `pysync init` on a terminal. Each is repeated until the answer is valid."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import content
from pysync.cli.output import echo
from pysync.hive_site.document import parse
from pysync.setup.plan import user_problems
from pysync.setup.questions import Question, locations, missing, problem, questions
from pysync.setup.record import InstallRecord

_USER = "The user that HMS runs as. pysync runs as the same."
_HIVE_SITE = "hive-site.xml", "The hive-site.xml of HMS, to add the listener to. none: print the properties instead."
_HIVE_LIB = "jar directory", "The directory with the jars of HMS, to copy the listener to. none: do not copy it."
_NONE = "none"
_SITES = ("$HIVE_CONF_DIR/hive-site.xml", "$HIVE_HOME/conf/hive-site.xml", "/etc/hive/conf/hive-site.xml")
_LIBS = ("$HIVE_HOME/lib", "/usr/lib/hive/lib", "/opt/cloudera/parcels/CDH/lib/hive/lib", "/opt/hive/lib")


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks on a terminal, and takes the defaults elsewhere. `former` is the record of an earlier run."""

    former: InstallRecord | None
    problems: list[str]  # of the values of options

    def user(self, given: str | None) -> str:
        """Return the user that HMS runs as."""
        if given is not None:
            self.problems.extend(user_problems(given))  # before the first question
            return given
        default = self.former.user if self.former else "hive"
        return self._prompt("user", _USER, default, lambda it: next(user_problems(it), None))

    def check(self, given: Mapping[str, str]) -> None:
        """Add what is wrong with the values of options to the problems."""
        for key, value in given.items():
            # The settings of a target depend on its kind.
            is_checked = "target_kind" in given or key.startswith("source_")
            if is_checked and (wrong := problem(key, value, given)):
                self.problems.append(f"{Question(key, '').flag}: {wrong}")

    def prefixes(self, pairs: list[str]) -> dict[str, str]:
        """Return the locations of `--location` options. If one is invalid, that is a problem, and there are none."""
        try:
            return locations(pairs)
        except UsageError as error:
            self.problems.append(f"--location: {error}")
            return {}

    def answers(self, given: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
        """Return the answers to all `questions`. Required options that are missing become problems.

        `defaults` are better ones than those of the questions.
        """
        answers = dict(given)
        if not is_terminal():
            if flags := missing(answers):
                self.problems.append(
                    f"missing options: {', '.join(flags)}; give them, or run pysync init on a terminal"
                )
            return answers | {it.key: defaults.get(it.key) or it.default or "" for it in questions(answers)}
        if not self.problems:
            for it in questions(answers):
                default = defaults.get(it.key) or it.default
                answers[it.key] = self._answer(replace(it, default=default), answers)
        return answers

    def hive_site(self, given: Path | None, agent: Path | None) -> Path | None:
        """Return the hive-site.xml to edit, or None; `agent` is the one with the settings of another tool."""
        former = [str(it) for it in self.former.hive_sites] if self.former else []
        former += [str(agent)] if agent else []
        return self._path(given, _HIVE_SITE, (*former, *_SITES), Path.is_file, _not_hive_site)

    def hive_lib(self, given: Path | None) -> Path | None:
        """Return the directory for the jar, or None."""
        former = [str(it.parent) for it in self.former.files if it.suffix == ".jar"] if self.former else []
        return self._path(given, _HIVE_LIB, (*former, *_LIBS), Path.is_dir, _not_directory)

    def _answer(self, question: Question, answers: Mapping[str, str]) -> str:
        return self._prompt(
            question.label, question.text, question.default, lambda it: problem(question.key, it, answers)
        )

    def _path(
        self,
        given: Path | None,
        question: tuple[str, str],
        places: tuple[str, ...],
        is_there: Callable[[Path], bool],
        check: Callable[[str], str | None],
    ) -> Path | None:
        if given is not None or not is_terminal() or self.problems:
            return given and given.absolute()
        likely = (Path(os.path.expandvars(it)) for it in places)
        default = next((str(it) for it in likely if is_there(it)), _NONE)
        answer = self._prompt(*question, default, lambda it: None if it == _NONE else check(it))
        return None if answer == _NONE else Path(answer).absolute()

    def _prompt(self, label: str, text: str, default: str | None, check: Callable[[str], str | None]) -> str:
        """Return a valid answer; without a terminal the default. The question goes to standard error (--json)."""
        if not is_terminal():
            return default or ""

        def checked(value: str) -> str:
            if wrong := check(value.strip()):
                raise typer.BadParameter(wrong)
            return value.strip()

        echo("", err=True)
        echo(textwrap.fill(text, shutil.get_terminal_size().columns - 1, break_long_words=False), err=True)
        answer: str = typer.prompt(
            f"  {label}", default=default, value_proc=checked, err=True, show_default=bool(default)
        )
        return answer


def is_terminal() -> bool:
    """Whether a person can answer: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _not_hive_site(text: str) -> str | None:
    try:
        parse(content(Path(text)), text)
    except OSError as error:
        return f"cannot read {text}: {error.strerror}"
    except PysyncError as error:
        return str(error)
    return None


def _not_directory(text: str) -> str | None:
    return None if Path(text).is_dir() else f"there is no directory {text}"
