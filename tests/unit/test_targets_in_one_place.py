"""Two targets of one source that write to the same metastore: refused where their names are certain to meet.

What each does to an object of the other is in tests/conformance/test_writers.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.base.errors import UsageError
from pysync.config import read_config

SOURCE = '[source]\nname = "onprem"\n[bridge]\nport = 0\ntoken_file = "token"\n[queue]\ndirectory = "queue"\n'


def configuration(*targets: str) -> str:
    return SOURCE + "".join(
        f'[[targets]]\nname = "t{at}"\nkind = "hms"\nmetastore = "thrift://dr:9083"\n{more}\n'
        for at, more in enumerate(targets)
    )


@pytest.mark.parametrize(
    ("one", "other", "met"),
    [
        ("", "", "any_name.any_name"),
        ('include = ["sales"]', "", "sales.any_name"),
        ('include = ["tiny*"]', 'include = ["tiny"]\ndatabases = { tiny = "tiny_archive" }', "tiny_archive.any_name"),
        ('include = ["a"]\ndatabases = { a = "c" }', 'include = ["b"]\ndatabases = { b = "c" }', "c.any_name"),
        ('include = ["a.t"]', 'include = ["a.*"]', "a.t"),
    ],
)
def test_two_targets_in_one_place_whose_names_meet_are_refused(one: str, other: str, met: str) -> None:
    with pytest.raises(UsageError, match=f"'t0' and 't1' write to the same place, and both would write {met} there"):
        read_config(configuration(one, other), Path("pysync.toml"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('include = ["a"]', 'include = ["b"]'),
        ('exclude = ["copy_of_*"]', 'databases = { "*" = "copy_of_*" }'),
        ("", 'mode = "shadow"'),
        ("", "enabled = false"),
        ('include = ["a"]\nexclude = ["a.t"]', 'include = ["a.t"]'),
    ],
)
def test_two_targets_in_one_place_whose_names_do_not_meet_are_taken(one: str, other: str) -> None:
    assert len(read_config(configuration(one, other), Path("pysync.toml")).targets) == 2


def test_targets_in_two_places_may_have_the_same_names() -> None:
    text = configuration("", "").replace("dr:9083", "other:9083", 1)
    assert len(read_config(text, Path("pysync.toml")).targets) == 2
