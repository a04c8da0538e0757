"""The source: opens it for reading, or says that its address is not set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from thrift.Thrift import TException

from pysync.base.errors import PysyncError, UsageError
from pysync.metastore.access import MetastoreRef
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError

SOURCE = "the source"
"""What the source is called where it does not answer."""

T = TypeVar("T")


class SourceNotSet(UsageError):
    """pysync.toml does not say where the source is."""

    def __init__(self, hint: str = "set it to the address of the source") -> None:
        super().__init__("[source] metastore is not set", hint)


def known(source: T | None) -> T:
    """What reaches the source. Raises SourceNotSet if there is nothing."""
    if source is None:
        raise SourceNotSet
    return source


@contextmanager
def reading(where: MetastoreRef | None, timeout: float = 30.0) -> Iterator[Metastore]:
    """A connection to the source, which waits for an answer for `timeout` seconds.

    Raises SourceNotSet if its address is not known, and PysyncError, one line that names the source, for any error in
    reading it.
    """
    if where is None:
        raise SourceNotSet
    try:
        with Metastore(where, timeout=timeout) as source:
            yield source
    except (MetastoreError, TException) as error:
        raise PysyncError(f"cannot read the source at {where}: {error}") from error
