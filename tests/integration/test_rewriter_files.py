"""Writing anew with a real Spark: the rows that Hive reads, only what has changed, nothing half done."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.copy.copy_round import RECORD
from pysync.copy.workers import SparkWorkers
from pysync.model.file_differences import Pair
from pysync.model.locations import Form
from pysync.targets.base import Rejected
from tests.support.reencoding import Place, spark_workers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

TYPES = [
    ("i", "int"),
    ("s", "string"),
    ("d", "date"),
    ("t", "timestamp"),
    ("f", "double"),
    ("v", "varchar(9)"),
    ("b", "boolean"),
]
TEXT = Form("text", "parquet", tuple(TYPES), "\x01", "\\N")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkWorkers]:
    with spark_workers(tmp_path_factory.mktemp("spark")) as workers:
        yield workers


@pytest.fixture
def place(spark: SparkWorkers, tmp_path: Path) -> Iterator[Place]:
    made = Place(spark, tmp_path)
    yield made
    made.copier.close()


@pytest.mark.smoke
def test_text_is_read_as_hives_serde_reads_it(place: Place) -> None:
    lines = [
        "1|a b|2026-02-03|2026-02-03 04:05:06.5|1.5|123456789x|TRUE|too much",
        "x||1/2/3|never|NaN|\\N|yes",
        "",
        "99999999999",
    ]
    (place.here / "a").write_bytes("\r\n".join(lines).replace("|", "\x01").encode())
    place.anew(TEXT)
    found = [tuple(str(value) if value is not None else None for value in row) for row in place.rows()]
    assert sorted(found, key=str) == sorted(
        [
            ("1", "a b", "2026-02-03", "2026-02-03 04:05:06.500000", "1.5", "123456789", "True"),
            (None, "", None, None, "nan", None, None),
            (None, None, None, None, None, None, None),
            (None, None, None, None, None, None, None),
        ],
        key=str,
    )


def test_the_header_of_every_file_is_left_out(place: Place) -> None:
    form = Form("text", "orc", (("n", "int"),), ",", "\\N", header=2)
    for name in ("a", "b"):
        (place.here / name).write_text("head\n0\n" + "".join(f"{n}\n" for n in range(1, 2000)))
    (place.here / "c.gz").write_bytes(gzip.compress(b"head\n0\n7\n"))
    (place.here / "d").write_text("head\n")
    place.anew(form)
    rows = [n for (n,) in place.rows("orc")]
    assert (len(rows), sum(rows)) == (2 * 1999 + 1, 2 * 1999000 + 7)


@pytest.mark.smoke
def test_json_is_read_by_names_in_any_case(place: Place) -> None:
    form = Form("json", "parquet", (("id", "bigint"), ("tags", "array<string>"), ("price", "decimal(15,5)")))
    lines = ['{"Tags": ["a", null], "price": 1234567890.01234, "id": 5, "ID": 12345678901}', '{"other": {"id": 1}}']
    (place.here / "a").write_text("\n".join(lines))
    place.anew(form)
    assert [tuple(map(str, row)) for row in place.rows()] == [
        ("12345678901", "['a', None]", "1234567890.01234"),
        ("None", "None", "None"),
    ]


@pytest.mark.parametrize(("kind", "to"), [("parquet", "parquet"), ("orc", "parquet"), ("parquet", "orc")])
def test_many_files_become_one_and_a_second_run_writes_none(place: Place, kind: str, to: str) -> None:
    rows = place.workers.host.session().range(0, 100, 1, 5).selectExpr("id", "cast(id as decimal(9,2)) as Price")
    rows.write.format(kind).mode("overwrite").save(f"file:{place.here.parent}/made")
    for file in (place.here.parent / "made").glob("part-*"):
        file.rename(place.here / file.name)
    form = Form(kind, to, (("id", "bigint"), ("price", "decimal(9,2)"), ("new", "string")))
    place.there.mkdir()
    (place.there / ".pysync-copy-dead-1").mkdir()
    (place.there / "old").write_bytes(b"x")
    (place.there / RECORD).write_bytes(b"old\n")
    first = place.anew(form)
    assert (first.files, first.removed) == (1, 1)
    assert len(place.names()) == 2
    assert sum(row[0] for row in place.rows(to)) == 4950
    assert {row[2] for row in place.rows(to)} == {None}
    again = place.anew(form)
    assert (again.files, again.same) == (0, 1)

    next(place.here.iterdir()).unlink()
    assert place.anew(form, removes_extras=False).removed == 2
    assert len(place.rows(to)) == 80
    assert len(place.names()) == 2


def test_what_cannot_be_read_is_refused_and_the_target_stays_as_it_was(place: Place) -> None:
    (place.here / "a").write_text("1\n")
    place.anew(Form("text", "parquet", (("s", "string"),), ",", "\\N"))
    before = place.names()
    (place.here / "b").write_bytes(b"\xfc\n")
    with pytest.raises(Rejected, match="UTF-8"):
        place.anew(Form("text", "parquet", (("s", "string"),), ",", "\\N"))
    for kind in ("json", "orc", "parquet"):
        with pytest.raises(Rejected, match=f"as {kind}"):
            place.anew(Form(kind, "parquet", (("s", "string"),)))
    assert place.names() == before


def test_files_that_are_copied_as_they_are_again_replace_the_re_encoded_ones(place: Place) -> None:
    (place.here / "a").write_text("1\n")
    place.anew(TEXT)
    done = place.copier.copy([Pair(f"file:{place.here}", f"file:{place.there}")])
    assert (done.files, done.removed, done.foreign) == (1, 2, ())
    assert place.names() == ["a"]
    assert place.anew(TEXT).removed == 1
    assert len(place.rows()) == 1


def test_an_emptied_directory_is_empty_at_the_target(place: Place) -> None:
    (place.here / "a").write_text("1\n")
    place.anew(TEXT)
    (place.here / "a").unlink()
    place.anew(TEXT)
    assert place.rows() == []
    assert place.anew(TEXT).removed == 0


def test_rows_are_compared_in_any_order_and_nothing_is_removed(place: Place) -> None:
    columns = (("i", "int"), ("s", "string"), ("m", "map<string,int>"), ("f", "double"))
    form = Form("json", "orc", columns)
    (place.here / "a").write_text(
        '{"i": 1, "s": "x", "m": {"k": 1}, "f": 0.1}\n{"i": 1, "s": "x"}\n{"i": 1, "s": "x"}\n'
    )
    (place.here / "b").write_text('{"i": 2, "m": {}}\n')
    pair = Pair(f"file:{place.here}", f"file:{place.there}", form, removes_extras=True)
    (missing,) = place.rewriter.compare([pair])
    assert missing.rows == [f"{pair.target} has 0 rows with the checksum {0:016x} instead of {_of(missing.rows[0])}"]
    place.anew(form)
    left = place.there / ".pysync-copy-0123abcd-left"
    left.write_text("of another process, which is at work")
    before = place.names()
    (same,) = place.rewriter.compare([pair])
    assert (same.exists, same.rows, same.foreign, place.names()) == (True, [], [], before)
    (place.here / "a").write_text(
        '{"i": 1, "s": "x"}\n{"i": 1, "s": "x"}\n{"i": 1, "s": "x", "m": {"k": 1}, "f": 0.1}\n'
    )
    assert place.rewriter.compare([pair])[0].rows == [], "another order"
    for other in ('{"i": 1, "s": "y"}', '{"i": 1, "s": "x", "m": {"k": 2}, "f": 0.1}', '{"i": 1, "s": "x"}'):
        (place.here / "a").write_text(f'{{"i": 1, "s": "x"}}\n{{"i": 1, "s": "x"}}\n{other}\n')
        assert len(place.rewriter.compare([pair])[0].rows) == 1, other
    (place.there / "part-0").write_text("of others")
    assert [it.name for it in place.rewriter.compare([pair])[0].foreign] == ["part-0"]


def _of(text: str) -> str:
    return text.partition(" instead of ")[2]


def test_the_source_is_not_written_over_by_another_name(place: Place) -> None:
    (place.here / "a").write_text("1\n")
    form = Form("text", "parquet", (("s", "string"),), ",", "\\N")
    pair = Pair(f"file://{place.here}", f"file:{place.here}", form)
    with pytest.raises(Rejected, match="directory of the source"):
        place.rewriter.copy([pair])
    assert [it.name for it in place.here.iterdir()] == ["a"]
