"""Tables that change, in every way that a statement knows, and in those that none does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from tests.support.corpus.case import Case, Make, Play, Step, columns

_ORC = "org.apache.hadoop.hive.ql.io.orc"
_KEY = (("k", "string"),)


def cases() -> Iterator[Case]:
    yield from _tables()
    yield from _lives()
    yield from _partitions()


def _tables() -> Iterator[Case]:
    alters: list[tuple[str, Make, bool]] = [
        ("columns added", lambda t: t.sd.cols.extend(columns(("order", "int"), ("c'd", "string"))), True),
        ("a comment added with a column", lambda t: t.sd.cols.append(hive.FieldSchema("c", "int", "it's \\ 😀")), True),
        ("a date added", lambda t: t.sd.cols.append(hive.FieldSchema("c", "date", None)), False),
        ("a column renamed", lambda t: setattr(t.sd.cols[0], "name", "user"), True),
        ("a column dropped", lambda t: t.sd.cols.pop(), True),
        ("a column widened", lambda t: setattr(t.sd.cols[0], "type", "bigint"), True),
        ("a number made a text", lambda t: setattr(t.sd.cols[0], "type", "string"), True),
        ("a column in the middle", lambda t: t.sd.cols.insert(1, hive.FieldSchema("z", "string", None)), True),
        ("a column's comment changed", lambda t: setattr(t.sd.cols[0], "comment", "it's ${x} \\"), True),
        ("the comment changed", lambda t: t.parameters.update(comment="it's\n\\ new"), True),
        ("a property set", lambda t: t.parameters.update({"it's": "\\'"}), True),
        ("a property made empty", lambda t: t.parameters.update(first=""), True),
        ("a property removed", lambda t: t.parameters.pop("first"), False),
        ("another place", lambda t: setattr(t.sd, "location", f"{t.sd.location}/it's$;ü%20😀"), True),
        ("a place with a space", lambda t: setattr(t.sd, "location", f"{t.sd.location}/a b"), False),
        ("a place with braces", lambda t: setattr(t.sd, "location", f"{t.sd.location}/${{x}}"), False),
        ("a place with a percent", lambda t: setattr(t.sd, "location", f"{t.sd.location}/100%"), False),
        ("another serde", lambda t: setattr(t.sd.serdeInfo, "serializationLib", f"{_ORC}.OrcSerde"), False),
        ("a serde's property", lambda t: t.sd.serdeInfo.parameters.update({"field.delim": "'"}), False),
        ("other buckets", lambda t: (setattr(t.sd, "bucketCols", ["a"]), setattr(t.sd, "numBuckets", 3)), False),
        ("another owner", lambda t: setattr(t, "owner", "it's bob"), True),
        ("everything that a statement says", _everything, True),
    ]
    for title, change, text in alters:
        yield Case(title, lambda t: t.parameters.update(first="1"), steps=(_altering(change),), said=text)


def _everything(table: Any) -> None:
    table.sd.cols = columns(("date", "string"), ("x y", "string"), ("z", "array<struct<select:int>>"))
    table.parameters |= {"p'": "\\", "comment": "ünï"}
    table.sd.location += "/b'c"


def _lives() -> Iterator[Case]:
    yield Case("dropped", steps=(lambda play: play.drop(),))
    yield Case("dropped, with partitions", keys=_KEY, steps=(lambda play: play.add(["v"]), lambda play: play.drop()))
    yield Case("dropped and created with other keys", steps=(_recreated((("k", "int"),)),))
    yield Case("dropped and created as a table of ORC", keys=_KEY, steps=(_recreated(_KEY, _orc),))
    yield Case("renamed", keys=_KEY, steps=(lambda play: play.add(["v"], ["w'"]), _renamed), said=False)


def _partitions() -> Iterator[Case]:
    one: list[tuple[str, Step, bool]] = [
        ("moved", lambda p: p.alter_partition(["a"], _moved("elsewhere/it's😀")), True),
        ("moved to a place with a space", lambda p: p.alter_partition(["a"], _moved("a b")), False),
        ("with a property", lambda p: p.alter_partition(["a"], lambda it: it.parameters.update({"x'": "\\"})), False),
        ("with statistics", lambda p: p.alter_partition(["a"], lambda it: it.parameters.update(numRows="7")), True),
        ("of another format", lambda p: p.alter_partition(["a"], _orc_storage), False),
        ("renamed", lambda p: p.rename_partition(["a"], ["it's"]), True),
        ("dropped", lambda p: p.drop_partition(["a"]), True),
        ("dropped and added", lambda p: (p.drop_partition(["a"]), p.add(["a"], location="new{}")), True),
        ("after a new column", lambda p: (p.alter(_wider), p.add(["n"])), True),
    ]
    for title, step, text in one:
        yield Case(f"a partition {title}", keys=_KEY, steps=(lambda play: play.add(["a"], ["b"]), step), said=text)
    yield Case("a hundred and twenty partitions", keys=_KEY, steps=(_many, _fewer))
    yield Case("four keys", keys=_four(), steps=(lambda play: play.add(["2020-01-02", "7", "it's", "1.5"]),))
    yield Case(
        "partitions in odd places", keys=_KEY, steps=(lambda p: p.add(["a"], ["b"], location="o'dd ${{x}} ü;{}"),)
    )


def _four() -> tuple[tuple[str, str], ...]:
    return (("date", "date"), ("hour", "int"), ("user", "string"), ("price", "decimal(5,1)"))


def _altering(change: Make) -> Step:
    return lambda play: play.alter(change)


def _recreated(keys: tuple[tuple[str, str], ...], make: Make = lambda _: None) -> Step:
    def step(play: Play) -> None:
        play.drop()
        play.create(make, keys)

    return step


def _renamed(play: Play) -> None:
    play.alter(lambda table: setattr(table, "tableName", f"{table.tableName}_new"))


def _moved(place: str) -> Make:
    return lambda part: setattr(part.sd, "location", f"{part.sd.location.rpartition('/')[0]}/{place}")


def _orc(table: Any) -> None:
    table.sd.inputFormat, table.sd.outputFormat = f"{_ORC}.OrcInputFormat", f"{_ORC}.OrcOutputFormat"
    table.sd.serdeInfo.serializationLib = f"{_ORC}.OrcSerde"


def _orc_storage(part: Any) -> None:
    _orc(part)


def _wider(table: Any) -> None:
    table.sd.cols.append(hive.FieldSchema("c", "string", None))


def _many(play: Play) -> None:
    play.add(*([f"v{number}"] for number in range(120)))


def _fewer(play: Play) -> None:
    for number in range(30):
        play.drop_partition([f"v{number}"])
