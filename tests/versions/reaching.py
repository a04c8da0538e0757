"""What the tests of logins and transports share: secrets in files, refusals, and a replay that needs many bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.metastore.access import MetastoreAccess, MetastoreRef
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError, MetastoreUnavailable
from pysync.metastore.settings import LoginSettings, TlsSettings
from pysync.model.names import TableName
from pysync.targets.base import Outcome
from pysync.targets.hms import HmsSettings
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source, partition, table

SECRET = 'correct horse: "x" %'  # noqa: S105, nobody's


def written_file(path: Path, text: str, mode: int = 0o600) -> Path:
    path.touch(mode=mode)
    path.chmod(mode)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(where: str, login: LoginSettings | None, tls: TlsSettings | None = None) -> str:
    """Why nobody comes in, in one line that gives nothing away; it must be no reason to park anything."""
    message = failure(MetastoreAccess.of(where, tls, login=login), MetastoreUnavailable)
    assert "\n" not in message
    assert "horse" not in message
    return message


def failure(where: MetastoreRef, kind: type[MetastoreError] = MetastoreError) -> str:
    """What a call there says, and what it says to look at."""
    with Metastore(where, timeout=20) as metastore, pytest.raises(kind) as refused:
        metastore.databases()
    return f"{refused.value}; {refused.value.hint}"


def settings(server: EmbeddedMetastore, **ways: Any) -> HmsSettings:
    return HmsSettings.model_validate({"name": "dr", "kind": "hms", "metastore": server.uri, **ways})


def replays(target: StoreTarget, name: str, root: Path) -> None:
    """A database, a table and many partitions are put there."""
    source, whole = Source(), TableName(name, "t")
    assert target.apply(source.put_database(name)) == Outcome.APPLIED
    of = table(whole, f"file:{root}/{name}", keys=["k"])
    assert target.apply(source.put_table(of)) == Outcome.APPLIED
    many = [partition(of, [f"{value:04d}" * 10]) for value in range(700)]  # more than fits a frame, or a buffer
    assert target.apply(source.put_partitions(of, *many)) == Outcome.APPLIED
    assert len(list(target.partitions(whole))) == len(many)
    assert target.apply(source.put_partitions(of, *many)) == Outcome.UNCHANGED
