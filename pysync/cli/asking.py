"""What `pysync init` asks on a terminal, an answer at a time, until each will do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from pysync.cli.output import say
from pysync.errors import PysyncError
from pysync.hive_site.document import parse
from pysync.install.plan import user_problems
from pysync.install.questions import Question, missing, problem, questions
from pysync.install.record import Record

_USER = "The user that HMS runs as. pysync runs as the same."
_HIVE_SITE = "hive-site.xml", "The hive-site.xml of HMS, to add the listener to. none: print the properties instead."
_HIVE_LIB = "jar directory", "The directory with the jars of HMS, to copy the listener to. none: do not copy it."
_NONE = "none"
_SITES = ("$HIVE_CONF_DIR/hive-site.xml", "$HIVE_HOME/conf/hive-site.xml", "/etc/hive/conf/hive-site.xml")
_LIBS = ("$HIVE_HOME/lib", "/usr/lib/hive/lib", "/opt/cloudera/parcels/CDH/lib/hive/lib", "/opt/hive/lib")


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks on a terminal; elsewhere it takes what is by default. `former` is what an earlier run has made."""

    former: Record | None
    problems: list[str]  # with what was given as options

    def user(self, given: str | None) -> str:
        """The user of HMS."""
        if given is not None:
            self.problems.extend(user_problems(given))  # before anything is asked
            return given
        default = self.former.user if self.former else "hive"
        return self._asked("user", _USER, default, lambda it: next(user_problems(it), None))

    def answers(self, given: Mapping[str, str]) -> dict[str, str]:
        """Answers to all `questions`. What was given and will not do, or is missing, is among the problems."""
        found, kind = dict(given), given.get("target_kind", "")
        for key, value in given.items():
            # Without a kind there is no telling what a target may be set to.
            if (kind or key in {"source_name", "source_metastore"}) and (told := problem(key, value, kind)):
                self.problems.append(f"{Question(key, '').flag}: {told}")
        if not is_terminal():
            if flags := missing(found):
                self.problems.append(
                    f"missing options: {', '.join(flags)}; give them, or run pysync init on a terminal"
                )
            return found | {it.key: it.default or "" for it in questions(found)}
        if not self.problems:
            for it in questions(found):
                found[it.key] = self._answer(it, found)
        return found

    def hive_site(self, given: Path | None) -> Path | None:
        """The file of HMS to edit, if any."""
        former = [str(it) for it in self.former.hive_sites] if self.former else []
        return self._path(given, _HIVE_SITE, (*former, *_SITES), Path.is_file, _not_hive_site)

    def hive_lib(self, given: Path | None) -> Path | None:
        """Where the jar goes, if anywhere."""
        former = [str(it.parent) for it in self.former.files if it.suffix == ".jar"] if self.former else []
        return self._path(given, _HIVE_LIB, (*former, *_LIBS), Path.is_dir, _not_directory)

    def _answer(self, question: Question, found: Mapping[str, str]) -> str:
        kind = found.get("target_kind", "")
        return self._asked(question.label, question.text, question.default, lambda it: problem(question.key, it, kind))

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
        answer = self._asked(*question, default, lambda it: None if it == _NONE else check(it))
        return None if answer == _NONE else Path(answer).absolute()

    def _asked(self, label: str, text: str, default: str | None, check: Callable[[str], str | None]) -> str:
        """An answer that will do; off a terminal the default. Asked on standard error, which --json leaves free."""
        if not is_terminal():
            return default or ""

        def checked(value: str) -> str:
            if told := check(value.strip()):
                raise typer.BadParameter(told)
            return value.strip()

        say("", err=True)
        say(text, err=True)
        answer: str = typer.prompt(
            f"  {label}", default=default, value_proc=checked, err=True, show_default=bool(default)
        )
        return answer


def is_terminal() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _not_hive_site(text: str) -> str | None:
    try:
        parse(Path(text).read_bytes(), text)
    except OSError as error:
        return f"cannot read {text}: {error.strerror}"
    except PysyncError as error:
        return str(error)
    return None


def _not_directory(text: str) -> str | None:
    return None if Path(text).is_dir() else f"there is no directory {text}"
