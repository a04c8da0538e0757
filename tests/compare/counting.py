"""What a catalog has, and how far it is from what the source has: values in, counts out."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Seen:
    """What is compared of a table. Locations are without a slash at the end, `properties` are those of the stream."""

    columns: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, str], ...]
    format: str
    location: str
    properties: tuple[tuple[str, str], ...]
    partitions: dict[tuple[str, ...], str] = field(hash=False)


Catalog = dict[tuple[str, str], Seen]
"""Tables by database and name."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a catalog is from the source. Partitions are those of tables that both have, or that are missing."""

    tables_missing: int
    tables_extra: int
    tables_differing: int
    partitions_missing: int
    partitions_extra: int
    partitions_differing: int

    @property
    def equal(self) -> bool:
        """Whether nothing is missing, extra or different."""
        return not any(getattr(self, item.name) for item in fields(self))


def count(source: Catalog, found: Catalog) -> Counts:
    """Compare what is found with what the source has."""
    both = [(source[name], found[name]) for name in source.keys() & found.keys()]
    missing = [source[name] for name in source.keys() - found.keys()]
    return Counts(
        tables_missing=len(missing),
        tables_extra=len(found.keys() - source.keys()),
        tables_differing=sum(differing(wanted, there) != [] for wanted, there in both),
        partitions_missing=sum(len(wanted.partitions.keys() - there.partitions.keys()) for wanted, there in both)
        + sum(len(wanted.partitions) for wanted in missing),
        partitions_extra=sum(len(there.partitions.keys() - wanted.partitions.keys()) for wanted, there in both),
        partitions_differing=sum(
            wanted.partitions[values] != there.partitions[values]
            for wanted, there in both
            for values in wanted.partitions.keys() & there.partitions.keys()
        ),
    )


def differing(wanted: Seen, there: Seen) -> list[str]:
    """The names of what differs between two definitions of a table; its partitions are counted by themselves."""
    names = [item.name for item in fields(Seen) if item.name != "partitions"]
    return [name for name in names if getattr(wanted, name) != getattr(there, name)]


def place(location: str) -> str:
    """A location as it is compared."""
    return location.replace("s3a://", "s3://", 1).rstrip("/")
