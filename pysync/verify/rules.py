"""Rules: what a target shall have of the source, and which differences are no drift. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.constraints import Constraints
from pysync.model.event import Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.reencoding import Frame
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.scope import Extent
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings
from pysync.verify.findings import DIFFERENT, EXTRA, FOREIGN, MISSING, ComparedObject

DEFAULT = "default"
"""The database that every metastore has of its own."""

# The kinds of event which a refresh needs to make a difference good; see pysync.replay.refresh.
_MENDED_BY: Mapping[tuple[str, str], Kind] = {
    ("database", MISSING): Kind.CREATE_DATABASE,
    ("database", DIFFERENT): Kind.CREATE_DATABASE,
    ("database", EXTRA): Kind.DROP_DATABASE,
    ("table", MISSING): Kind.CREATE_TABLE,
    ("table", DIFFERENT): Kind.CREATE_TABLE,
    ("table", EXTRA): Kind.DROP_TABLE,
    ("partition", MISSING): Kind.ADD_PARTITION,
    ("partition", DIFFERENT): Kind.ADD_PARTITION,
    ("partition", EXTRA): Kind.DROP_PARTITION,
    ("function", MISSING): Kind.CREATE_FUNCTION,
    ("function", DIFFERENT): Kind.CREATE_FUNCTION,
    ("function", EXTRA): Kind.DROP_FUNCTION,
    ("constraint", EXTRA): Kind.DROP_CONSTRAINT,
}


@dataclass(frozen=True, slots=True)
class Rules:
    """Policy, mapping and ownership for one target; `source` is the name in its marks."""

    settings: TargetSettings
    policy: Policy
    mapping: NameMapping
    source: str

    @classmethod
    def of(cls, settings: TargetSettings, source: str) -> Rules:
        """The rules of a target's settings. Raises UsageError, which names the setting that is wrong."""
        rules = HomeRules if settings.both_ways else cls
        return rules(settings, Policy.of(settings), NameMapping.of(settings), source)

    @property
    def trash(self) -> set[str]:
        """The database of dropped tables, if the target has one: it is nobody's."""
        return {self.settings.trash_database} if self.settings.drops == "trash" else set()

    def excuse(self, kind: str, result: str, source: str, by: Kind | None = None) -> str:
        """Why the settings leave a difference as it is; "" if they do not. `by` is the kind that would mend it.

        `source` is the object's name at the source, or that of the table or database which it belongs to.
        """
        needed = by or _MENDED_BY.get((kind, result))
        name = TableName.parse(source) if "." in source else source
        excuse = "" if needed is None else self.policy.excuse(needed, name)
        return "drops are suppressed" if excuse.startswith("drops") else excuse

    @property
    def cluster(self) -> str:
        """The name of the target's own source, where it has one."""
        return self.settings.cluster or self.settings.name

    def is_ours(self, there: Any) -> bool:
        """Whether an object at the target carries the mark of this source."""
        mark = Mark.read(there.parameters)
        return mark is not None and mark.source == self.source

    def is_in_place(self, wanted: Any, there: Any) -> bool:
        """Whether the object at the target is the one of the source, and no other of its name."""
        return self._have_one_home(wanted, there) if self.stays(wanted) else self.is_ours(there)

    def rival(self, source: str, there: Any) -> str:
        """The other object of the source that the target's `there` is a copy of, and that may keep the name; "" if
        none.

        `source` is the name at the source of a database or table.
        """
        mark = Mark.read(there.parameters)
        if mark is None or mark.source != self.source or not mark.object:
            return ""
        rivals = self.mapping.rivals_of(TableName.parse(source) if "." in source else source)
        return mark.object if mark.object in {str(it) for it in rivals if self.policy.takes(it)} else ""

    def has_parts(self, there: Any) -> bool:
        """Whether objects without marks of their own, in this one at the target, came from this source."""
        return self.is_ours(there)

    def owner_text(self, there: Any) -> str:
        """Whose an object at the target is, for people."""
        mark = Mark.read(there.parameters)
        return "not written by pysync" if mark is None else f"written by pysync from {mark.source!r}"

    def stays(self, wanted: Any) -> str:
        """Why an object stays as it is at the target, whatever the source has; "" if it does not."""
        mark = Mark.read(wanted.parameters)
        came = mark is not None and mark.source == self.cluster
        return f"it came from {self.cluster!r}: only changes made there count" if came else ""

    def extra_object(self, compared: ComparedObject, there: Any) -> ComparedObject:
        """What only the target has: ours to drop, or somebody's."""
        if self.is_ours(there):
            excuse = self._left_scope(compared, there) or self.excuse(compared.kind, EXTRA, compared.source)
            return replace(compared, result=EXTRA, excuse=excuse)
        return replace(compared, result=FOREIGN, excuse=self.owner_text(there))

    def _left_scope(self, compared: ComparedObject, there: Any) -> str:
        """Why a table or database stays that is the copy of one which has left the scope; "" if it is none."""
        if compared.kind not in {"table", "database"}:
            return ""
        name = TableName.parse(compared.name) if compared.kind == "table" else compared.name
        former = Extent(self.policy, self.mapping).former_object(name, Mark.read(there.parameters))
        return f"it left the scope as {former}" if former else ""

    def missing_object(self, compared: ComparedObject, wanted: Any) -> ComparedObject:  # noqa: ARG002
        """What only the source has: to be created."""
        return replace(compared, result=MISSING, excuse=self.excuse(compared.kind, MISSING, compared.source))

    def refused_object(self, compared: ComparedObject, there: Any | None, error: Rejected) -> ComparedObject:
        """What the target cannot hold as the source has it: it may be there in another form, but not be missing."""
        if there is not None:
            return replace(compared, result=DIFFERENT, excuse=error.message)
        excuse = self.excuse(compared.kind, MISSING, compared.source)
        return replace(compared, result=MISSING, fields=(error.message,), excuse=excuse)

    def rewritten(self, item: Any) -> Any:
        """An object of the source, but no partition, as the target shall have it; altered in place."""
        self.mapping.apply_to(item)
        return item

    def rewritten_partition(self, item: Any, frame: Frame) -> Any:
        """The same for a partition of the table with this frame."""
        self.mapping.apply_to_partition(item, frame)
        return item

    def constraints(self, constraints: Constraints) -> Constraints:
        """The constraints of a table as the target shall have them."""
        return {
            kind: [self.rewritten(column) for column in columns if self.policy.takes_constraint(column)]
            for kind, columns in constraints.items()
        }

    def _have_one_home(self, wanted: Any, there: Any) -> bool:
        return _home(wanted, self.source) == _home(there, self.cluster)


class HomeRules(Rules):
    """The rules for a target both ways: the home of each object counts."""

    __slots__ = ()

    def is_in_place(self, wanted: Any, there: Any) -> bool:
        """If both have one home."""
        return self._have_one_home(wanted, there)

    def has_parts(self, there: Any) -> bool:  # noqa: ARG002
        """All objects count, wherever they were created."""
        return True

    def owner_text(self, there: Any) -> str:
        """Its home's."""
        return f"created at {_home(there, self.cluster)!r}"

    def stays(self, wanted: Any) -> str:  # noqa: ARG002
        """None stays: changes count that were made at either end."""
        return ""

    def extra_object(self, compared: ComparedObject, there: Any) -> ComparedObject:
        """Ours to drop, or created elsewhere and missing here."""
        if self.is_ours(there):
            return super().extra_object(compared, there)
        return replace(compared, result=EXTRA, fields=(f"{self.owner_text(there)}, missing at {self.source!r}",))

    def missing_object(self, compared: ComparedObject, wanted: Any) -> ComparedObject:
        """To be created, or gone where it was created."""
        if _home(wanted, self.source) == self.cluster:
            return replace(compared, result=MISSING, fields=(f"created at {self.cluster!r}, but missing there",))
        return super().missing_object(compared, wanted)


def _home(item: Any, cluster: str) -> str:
    """Where an object that is found at a cluster was born."""
    mark = Mark.read(item.parameters)
    return cluster if mark is None else mark.source
