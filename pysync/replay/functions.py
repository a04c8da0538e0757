"""Functions: what a refresh means for those of a database. They carry no mark; their database's home counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.metastore.reads import Reads
from pysync.model.operation import DropFunction, Operation, PutFunction, Refresh
from pysync.replay.window.origins import Origins
from pysync.replay.window.translate import Translator
from pysync.targets.base import Target


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of a refresh's database; `at_source` and `there` are that database at the source and the target."""

    source: Reads
    target: Target
    translator: Translator
    refresh: Refresh
    at_source: Any
    there: Any

    def operations(self) -> Iterator[Operation]:
        """Put the source's functions; drop those that are in no database of the source which is mapped to this one.

        If the source may not say so, the home is asked. Functions cannot be renamed.
        """
        existing = {it.functionName: it for it in self._meant(self.target.functions(self.refresh.database))}
        for function in self._meant(self._of_source()):
            yield from self._put(function, existing.get(function.functionName))
        # Several databases of the source may be mapped to this one: its functions may come from another.
        wanted = self._wanted_names() if existing else set()
        for name in sorted(existing.keys() - wanted):
            yield from self._drop(name)

    def _of_source(self) -> Sequence[Any]:
        return [] if self.at_source is None else self.source.functions(self.refresh.source_database)

    def _meant(self, functions: Sequence[Any]) -> list[Any]:
        wanted = self.refresh.function
        return [it for it in functions if wanted in {"", it.functionName}]

    def _wanted_names(self) -> set[str]:
        mapping, database = self.translator.mapping, self.refresh.database
        belonging = [name for name in self.source.databases() if mapping.database(name) == database]
        return {function.functionName for name in belonging for function in self.source.functions(name)}

    def _put(self, function: Any, there: Any) -> Iterator[Operation]:
        self.translator.mapping.apply_to(function)
        if self._is_state():
            origin = self._origins.of_function(self._home(), self.at_source, self.there)
            yield PutFunction(database=self.refresh.database, definition=function, **origin)
        elif self.target.differences(function, there):
            yield from self._request(function.functionName)

    def _drop(self, name: str) -> Iterator[Operation]:
        if self._is_state():
            origin = self._origins.of_function(self._home(), self.at_source, self.there)
            yield DropFunction(database=self.refresh.database, function=name, **origin)
        else:
            yield from self._request(name)

    def _request(self, name: str) -> Iterator[Operation]:
        return self._origins.request_reread(self._home(), self.refresh.database, function=name)

    @property
    def _origins(self) -> Origins:
        return self.translator.policy.direction.origins(self.refresh)

    def _home(self) -> str:
        return self._origins.home(self.at_source, self.there)

    def _is_state(self) -> bool:
        return self._origins.brings_state_of(self._home())
