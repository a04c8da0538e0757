"""Report: what comparisons found, as JSON values and as JUnit XML; the form is a promise, see docs/verify.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from pysync.verify.findings import EQUAL, ComparedObject, Selection

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Report:
    """What was found at one target, and in how many seconds."""

    target: str
    kind: str
    compared: list[ComparedObject] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def drift(self) -> list[ComparedObject]:
        """The objects that have drifted."""
        return [item for item in self.compared if item.drift]

    @property
    def excused(self) -> list[ComparedObject]:
        """The objects that differ, and may."""
        return [item for item in self.compared if item.excuse]

    @property
    def partitions(self) -> int:
        """How many partitions were compared."""
        return sum(item.parts for item in self.compared)

    def replace(self, compared: Sequence[ComparedObject]) -> None:
        """Replace what had drifted by what a second look at it has found."""
        again = {item.source for item in self.drift}
        self.compared = [*(item for item in self.compared if item.source not in again), *compared]

    def again(self) -> Selection:
        """What a second look has to look at."""
        return Selection.of(self.drift)

    def as_json(self) -> dict[str, Any]:
        """As JSON values; what is equal is counted only."""
        return {
            "target": self.target,
            "kind": self.kind,
            "seconds": round(self.seconds, 3),
            "objects": len(self.compared),
            "partitions": self.partitions,
            "equal": sum(item.result == EQUAL for item in self.compared),
            "drift": len(self.drift),
            "excused": len(self.excused),
            "differences": [difference(item) for item in self.compared if item.result != EQUAL],
        }


def by_database(numbers: Mapping[str, int], drift: Iterable[ComparedObject]) -> list[dict[str, Any]]:
    """How many objects were compared in each database (`numbers`), and how many have drifted; by the source's names."""
    drifted = Counter(map(_database, drift))
    return [{"name": name, "objects": numbers[name], "drift": drifted[name]} for name in sorted(numbers)]


def numbers_of(compared: Iterable[ComparedObject]) -> Counter[str]:
    """How many objects of each database, by its name at the source, were compared."""
    return Counter(map(_database, compared))


def junit(reports: Sequence[Report]) -> bytes:
    """All of it as JUnit XML: a suite for each target, a case for each object; what may differ is skipped."""
    suites = ElementTree.Element("testsuites", name="pysync verify")
    for report in reports:
        suite = ElementTree.SubElement(suites, "testsuite", name=report.target, time=f"{report.seconds:.3f}")
        for name, items in (("tests", report.compared), ("failures", report.drift), ("skipped", report.excused)):
            suite.set(name, str(len(items)))
        for item in report.compared:
            _case(suite, report.target, item)
    return bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True))


def _case(suite: ElementTree.Element, target: str, item: ComparedObject) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=f"{target}.{item.kind}", name=_clean(item.name))
    if item.drift:
        failure = ElementTree.SubElement(case, "failure", message=item.result)
        failure.text = _clean("\n".join(item.fields))
    elif item.excuse:
        ElementTree.SubElement(case, "skipped", message=_clean(f"{item.result}: {item.excuse}"))


def difference(item: ComparedObject) -> dict[str, Any]:
    """One object that is not equal, as JSON values."""
    return {
        "kind": item.kind,
        "name": item.name,
        "source": item.source,
        "result": item.result,
        "drift": item.drift,
        "excuse": item.excuse or None,
        "fields": list(item.fields),
    }


def _database(item: ComparedObject) -> str:
    return (item.source or item.name).partition(".")[0]


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
