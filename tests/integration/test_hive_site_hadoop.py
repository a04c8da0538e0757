"""What Hadoop itself reads in a hive-site.xml is what we take for its properties, before an edit and after it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pysync.hive_site.document import parse
from pysync.hive_site.merge import merge, unmerge
from pysync.lab import java
from tests.support.hive_sites import FORMS

LISTENER = "org.pysync.listener.SidecarListener"
OLD, NEW = "hive.metastore.event.listeners", "metastore.event.listeners"
SETTINGS = {OLD: LISTENER, "pysync.source.name": "onprem", "pysync.spool.dir": "/spool"}
NAMES = (*SETTINGS, NEW, "a")


def one(name: str, value: str, more: str = "") -> str:
    return f"<property><name>{name}</name><value>{value}</value>{more}</property>"


FINAL = "<final>true</final>"
ODD: Mapping[str, str] = {
    "twice": one(OLD, "a.B") + one(OLD, "c.D"),
    "final first": one("a", "1", FINAL) + one("a", "2") + one("pysync.source.name", "x", FINAL) + one(OLD, "a.B"),
    "final later": one(OLD, "a.B") + one(OLD, "c.D", FINAL) + one(OLD, "e.F"),
    "final with spaces": one(OLD, "a.B", "<final> true </final>") + one(OLD, "c.D"),
    "final without a value": one(OLD, "a.B") + f"<property><name>{OLD}</name>{FINAL}</property>" + one(OLD, "c.D"),
    "no value": f"<property><name>{OLD}</name></property>",
    "another order": f"<property>{FINAL}<value>a.B</value><name> {OLD} </name></property>" + one(OLD, "c.D"),
    "two values": f"<property><name>{OLD}</name><value>a.B</value><value>c.D</value></property>",
    "section": one(OLD, "<![CDATA[a.B]]>"),
    "section and text": one(OLD, "a.B,<![CDATA[c.D]]>"),
    "comment": one(OLD, "a.B<!-- c -->"),
    "comment before": one(OLD, "<!-- c -->a.B"),
    "reference": one(OLD, "a&#46;B") + one("a", "&lt;&amp;&gt;"),
    "empty": one(OLD, ""),
    "spaces": one(OLD, " \n\t"),
    "tag": f"<property><name>{OLD}</name><value/></property>",
    "comma": one(OLD, "a.B,"),
    "lines": one(OLD, "\n  a.B,\n  c.D\n"),
    "attribute": '<property name="a" value="1"/>',
    "configuration within": f"<configuration>{one(OLD, 'a.B')}{one('a', '1')}</configuration>",
    "both names": one(NEW, "a.B") + one(OLD, "c.D"),
    "description": one("a", "1", "<description>name &amp; <b>value</b></description>"),
}


def files() -> dict[str, bytes]:
    found = {name: text.encode() for name, text in FORMS.items()}
    found |= {name: f"<configuration>{text}</configuration>".encode() for name, text in ODD.items()}
    text = '<?xml version="1.0" encoding="{}"?>\r\n<configuration>' + one("a", "ü") + "\r\n</configuration>"
    return found | {it: text.format(it).encode(it) for it in ("UTF-8", "UTF-16", "ISO-8859-1")}


def read_by_hadoop(paths: Sequence[Path]) -> dict[Path, dict[str, str]]:
    source = Path(__file__).with_name("ReadHiveSite.java")
    jars = [it for it in java.find_spark_jars().iterdir() if it.name.startswith(("hadoop-client", "slf4j", "jcl"))]
    class_path = ":".join(map(str, jars))
    line = [str(java.find_java()), "-cp", class_path, str(source), ",".join(NAMES), *map(str, paths)]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[Path, dict[str, str]] = {path: {} for path in paths}
    for path, name, value in (it.split("\t") for it in done.stdout.splitlines()):
        if value.startswith("="):
            found[Path(path)][name] = value[1:].encode("raw_unicode_escape").decode("unicode_escape").strip()
    return found


def test_hadoop_reads_what_we_read(tmp_path: Path) -> None:
    ours: dict[Path, dict[str, str]] = {}

    def keep(name: str, content: bytes) -> None:
        path = tmp_path / f"{len(ours)}.xml"
        path.write_bytes(content)
        values = parse(content, name).values()
        ours[path] = {key: values[key] for key in NAMES if key in values}

    for name, content in files().items():
        keep(name, content)
        merged = merge(parse(content, name), SETTINGS, name).content
        keep(name, merged)
        keep(name, unmerge(parse(merged, name), LISTENER, name).content)
    theirs = read_by_hadoop(list(ours))
    wrong = {path.read_text("utf-8", "replace"): (it, theirs[path]) for path, it in ours.items() if it != theirs[path]}
    assert wrong == {}
    lists = [it.get(NEW) or it[OLD] for it in list(theirs.values())[1::3]]
    assert all(LISTENER in [cls.strip() for cls in it.split(",")] and ",," not in it for it in lists)
