"""What a metastore's answers mean."""

from __future__ import annotations

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from pydantic import ValidationError
from thrift.Thrift import TApplicationException

from pysync.base.errors import PysyncError
from pysync.metastore.errors import (
    MetastoreCallFailed,
    MetastoreRequestInvalid,
    MetastoreUnavailable,
    MetastoreUnsupported,
)
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.hms import KIND, HmsSettings
from pysync.targets.hms.errors import classified
from pysync.targets.kinds import kind_names, target_kind

REFUSED = (
    "Got exception: java.net.ConnectException Call From vm/127.0.0.1 to localhost:1 failed on connection exception: "
    "java.net.ConnectException: Connection refused; For more details see:  http://wiki.apache.org/hadoop/ConnectionRefused"
)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MetastoreUnavailable("no"), Unavailable),
        (MetastoreCallFailed("no"), OutcomeUnknown),
        (MetastoreUnsupported("no"), Rejected),
        (MetastoreRequestInvalid("no"), Rejected),
        (hive.InvalidObjectException("nodb"), Rejected),
        (hive.InvalidOperationException("db.t table not found"), Rejected),
        (hive.NoSuchObjectException("nodb"), Rejected),
        (hive.AlreadyExistsException("t"), Rejected),
        (hive.MetaException(REFUSED), Unavailable),
        (hive.MetaException("org.apache.hadoop.hdfs.server.namenode.SafeModeException: in safe mode"), Unavailable),
        (hive.MetaException("Permission denied: user=hive, access=WRITE"), Forbidden),
        (hive.MetaException("java.lang.IllegalArgumentException: java.net.UnknownHostException: old-nn"), PysyncError),
        (hive.MetaException('UnsupportedFileSystemException No FileSystem for scheme "s3"'), Rejected),
        (hive.MetaException("java.io.IOException No FileSystem for scheme: s3"), Rejected),
        (hive.MetaException("One or more instances could not be made persistent"), PysyncError),
        (hive.MetaException("Processor has no capabilities, cannot create an ACID table."), Rejected),
        (hive.MetaException("The table must be stored using an ACID compliant format (such as ORC): db.t"), Rejected),
        (hive.MetaException("Foreign key references a:int; but no corresponding primary key exists"), Rejected),
        (hive.MetaException(None), PysyncError),
        (hive.ConfigValSecurityException("x"), PysyncError),
    ],
)
def test_kinds(error: Exception, kind: type[PysyncError]) -> None:
    with pytest.raises(PysyncError) as raised, classified("put of db.t on target 'dr'"):
        raise error
    assert type(raised.value) is kind
    assert raised.value.message.startswith("put of db.t on target 'dr': ")
    assert raised.value.__cause__ is error


def test_an_answer_of_an_internal_error_is_not_an_unknown_outcome() -> None:
    """It would come again for ever: a constraint of a missing column, for example."""
    error = MetastoreCallFailed("Internal error processing add_primary_key")
    error.__cause__ = TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error")
    with pytest.raises(PysyncError) as raised, classified("put"):
        raise error from error.__cause__
    assert type(raised.value) is PysyncError


def test_a_reading_has_no_unknown_outcome() -> None:
    with pytest.raises(Unavailable), classified("look", reading=True):
        raise MetastoreCallFailed("no")


def test_one_short_line() -> None:
    with pytest.raises(Rejected) as raised, classified("put"):
        raise hive.InvalidObjectException("a\n\tb" + "x" * 9000)
    assert raised.value.message.startswith("put: a bxxx")
    assert len(raised.value.message) == 500


def test_our_own_errors_pass() -> None:
    with pytest.raises(Rejected, match=r"^mine$"), classified("put"):
        raise Rejected("mine")


def test_the_kind_is_found_by_its_entry_point() -> None:
    assert "hms" in kind_names()
    assert target_kind("hms") is KIND


def test_settings_name_a_bad_address() -> None:
    assert HmsSettings(name="dr", kind="hms", metastore="thrift://h").metastore == "thrift://h:9083"
    with pytest.raises(ValidationError, match="'hive:9083' is not a metastore address"):
        HmsSettings(name="dr", kind="hms", metastore="hive:9083")
