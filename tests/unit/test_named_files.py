"""Files that a person names: what is no file, or larger than any file of its kind, is refused and not read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import MOST_IN_SETTINGS
from pysync.base.token import read_token
from pysync.base.toml_file import read_text
from pysync.cli.app import app
from pysync.cli.init_questions import _not_hive_site
from pysync.config_file.file import digest_of
from pysync.metastore.expiry import _ends
from pysync.metastore.settings import assert_secret
from pysync.setup.record import RECORD_NAME, read_record
from pysync.setup.steps import FileStep


def fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def large(path: Path) -> None:
    """20 GiB, of which nothing is on disk."""
    with path.open("wb") as file:
        file.truncate(20 * 1024**3)
    path.chmod(0o600)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def refused(read: Callable[[Path], Any]) -> Callable[[Path], str]:
    """What `read` refuses the file with."""

    def reading(path: Path) -> str:
        with pytest.raises(PysyncError) as error:
            read(path)
        return str(error.value)

    return reading


def rules(path: Path) -> str:
    done = CliRunner().invoke(app, ["import-rule", "--file", str(path)])
    assert isinstance(done.exception, UsageError)
    return str(done.exception)


READERS: dict[str, Callable[[Path], str]] = {
    "hive-site.xml of init": lambda path: str(_not_hive_site(str(path))),
    "import-rule --file": rules,
    "pysync.toml": refused(read_text),
    "a token": refused(read_token),
    "a password of a metastore": refused(lambda path: assert_secret(path, "password file")),
}


@pytest.mark.parametrize("make", [fifo, large, zeros])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_is_no_file_of_settings_is_refused(
    tmp_path: Path, read: Callable[[Path], str], make: Callable[[Path], None]
) -> None:
    path = tmp_path / "named"
    make(path)
    text = read(path)
    assert f"{path}: it " in text
    assert ("has more than 16 MiB" if make is large else "is not a file") in text


@pytest.mark.parametrize("make", [fifo, large, zeros])
def test_a_certificate_that_is_none_has_no_end(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "cert")
    assert _ends(tmp_path / "cert") == []


@pytest.mark.parametrize("make", [fifo, large, zeros])
def test_what_has_the_place_of_a_file_of_the_installation_is_not_read_whole(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """Root looks at it, and others may have put it there."""
    path = tmp_path / "file"
    make(path)
    assert FileStep(path, "unit", b"text").state() == "kept"
    assert digest_of(path) is None
    make(tmp_path / RECORD_NAME)
    with pytest.raises(UsageError, match=f"cannot read .*{RECORD_NAME}"):
        read_record(tmp_path)


def test_rules_on_standard_input_are_bounded() -> None:
    done = CliRunner().invoke(app, ["import-rule", "-"], input="x" * (MOST_IN_SETTINGS + 1))
    assert "standard input has more than 16 MiB" in str(done.exception)
