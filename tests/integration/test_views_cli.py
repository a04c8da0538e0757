"""`pysync views`: what becomes of the views of a real metastore at a Glue that nobody asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from tests.conformance.objects import columns, table, view
from tests.support.docworlds import Shell, alone

_LAKE = """\
name = "lake"
kind = "glue"
region = "eu-west-1"
endpoint_url = "http://127.0.0.1:1"
databases = { viewed = "athena", beside = "beside" }
exclude = ["viewed.secret"]
"""
_DATABASES = ("viewed", "beside")
VIEWS = {
    "plain": ("select a as a, b as b from viewed.t", ["a:int", "b:string"]),
    "outer": ("select a as a from viewed.plain", ["a:int"]),
    "ranked": ("select row_number() over (order by b) as n from viewed.t", ["n:int"]),
    "text": ("select cast(f as string) as x from viewed.t", ["x:string"]),
    "behind": ("select x as x from viewed.text", ["x:string"]),
    "secret": ("select a as a from viewed.t", ["a:int"]),
    "unknown": ("select my_function(a) as x from viewed.t", ["x:int"]),
}


@pytest.fixture(scope="module")
def source(shared_metastore: EmbeddedMetastore) -> Iterator[EmbeddedMetastore]:
    with Metastore(shared_metastore.uri) as hms:
        for name in _DATABASES:
            hms.call(lambda client, name=name: client.create_database(hive.Database(name, "", None, {})))
        for name in _DATABASES:
            base = table(
                TableName(name, "t"),
                f"file:{shared_metastore.warehouse}/{name}",
                cols=["a:int", "b:string", "f:double"],
            )
            hms.call(lambda client, base=base: client.create_table(base))
        for name, (query, cols) in VIEWS.items():
            made = view(TableName("viewed", name), query)
            made.sd.cols = columns(cols)
            hms.call(lambda client, made=made: client.create_table(made))
    yield shared_metastore
    with Metastore(shared_metastore.uri) as hms:
        for name in _DATABASES:
            hms.call(lambda client, name=name: client.drop_database(name, True, True))


def shell(source: EmbeddedMetastore, directory: Path, more: str = "") -> Shell:
    return alone(directory, source.uri, _LAKE + more)


def listed(source: EmbeddedMetastore, directory: Path, arguments: str = "", more: str = "") -> dict[str, Any]:
    done = shell(source, directory, more).run(f"pysync views {arguments} --json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def states(found: dict[str, Any]) -> dict[str, str]:
    return {it["view"].partition(".")[2]: it["state"] for it in found["views"]}


def test_views_are_listed_with_their_fate_and_what_helps(source: EmbeddedMetastore, tmp_path: Path) -> None:
    found = listed(source, tmp_path, "viewed")
    refused = dict.fromkeys(("behind", "ranked", "text", "unknown"), "refused")
    assert states(found) == {"outer": "translated", "plain": "translated"} | refused
    rows = {it["object"]: it for it in found["views"]}
    assert rows["athena.text"]["difference"] == "double-text"
    assert 'accept "double-text" in views_accept' in rows["athena.text"]["helps"]
    assert "row_number() OVER (ORDER BY b)" in rows["athena.ranked"]["reason"]
    assert rows["athena.ranked"]["helps"] == "set [source] hive_version"
    (summary,) = found["targets"]
    assert {it["setting"]: it["views"] for it in summary.pop("settings")} == {
        'views_accept = ["double-text"]': 2,
        **{f'[source] hive_version = "{it}"': 1 for it in ("2.3", "3.1", "4")},
    }
    assert summary == {
        "target": "lake",
        "views": 6,
        "translated": 2,
        "accepted": 0,
        "refused": 4,
        "kept": 0,
        "failing": 0,
    }


def test_accepted_differences_are_named(source: EmbeddedMetastore, tmp_path: Path) -> None:
    place = shell(source, tmp_path, 'views_accept = ["double-text"]\n')
    place.config.write_text(place.config.read_text().replace("[source]\n", '[source]\nhive_version = "2.3"\n', 1))
    found = json.loads(place.run("pysync views viewed.text viewed.behind viewed.ranked --json").stdout)
    assert states(found) == {"behind": "translated", "ranked": "translated", "text": "accepted"}
    assert [it["differences"] for it in found["views"]] == [[], [], ["double-text"]]
    assert found["targets"][0]["settings"] == []


def test_people_see_a_table_and_the_setting_that_brings_most(source: EmbeddedMetastore, tmp_path: Path) -> None:
    done = shell(source, tmp_path).run("pysync views viewed --target lake")
    assert (done.returncode, done.stderr) == (0, "")
    assert "views at lake" in done.stdout
    lines = done.stdout.splitlines()
    at = lines.index("lake: 6 views: 2 translated, 4 refused")
    assert lines[at + 1] == 'lake: views_accept = ["double-text"] would translate 2 more views'


@pytest.mark.parametrize(
    ("arguments", "more", "words"),
    [
        ("viewed.plane", "", "no view viewed.plane is in the scope"),
        ("viewed.secret", "", "no view viewed.secret is in the scope"),
        ("--target other", "", "has no target 'other'"),
        ("--target lake", 'views = "off"\n', "the target lake translates no views"),
        ("", 'views = "off"\n', "translates views"),
        ("", 'views_accept = ["all"]\n', "write some of: char-blanks, "),
    ],
)
def test_what_is_wrong_is_told(
    source: EmbeddedMetastore, tmp_path: Path, arguments: str, more: str, words: str
) -> None:
    done = shell(source, tmp_path, more).run(f"pysync views {arguments}")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert words in done.stderr
