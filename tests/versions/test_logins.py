"""Logins of Hive 4 by password (SASL PLAIN); each refusal is one line, without the secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.metastore.settings import LoginSettings
from pysync.targets.base import Outcome, Unavailable
from pysync.targets.hms import hms_target
from tests.conformance.objects import Source
from tests.versions.conftest import Report
from tests.versions.reaching import SECRET, failure, refusal, replays, settings, written_file
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need

HIVE_4 = "4.1.0"


@pytest.fixture(scope="module", autouse=True)
def _brought(report: Report) -> None:
    need(report, HIVE_4)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logins")


@pytest.fixture(scope="module")
def ann(directory: Path) -> LoginSettings:
    """Who may come in."""
    return LoginSettings(user="ann", password_file=written_file(directory / "password", SECRET + "\n"))


@pytest.fixture(scope="module")
def guarded(directory: Path, ann: LoginSettings) -> Iterator[EmbeddedMetastore]:
    """A metastore that asks for a password."""
    overrides = {
        "metastore.authentication": "CONFIG",
        "metastore.authentication.config.username": "ann",
        "metastore.authentication.config.password": SECRET,
        "hive.metastore.execute.setugi": "false",
    }
    with metastore_of(HIVE_4)(directory / "guarded", overrides=overrides, login=ann) as server:
        yield server


def test_a_target_that_asks_for_a_password(guarded: EmbeddedMetastore, ann: LoginSettings, tmp_path: Path) -> None:
    target = hms_target(settings(guarded, login=ann.model_dump(exclude_none=True)))
    replays(target, "by_password", tmp_path)
    target.close()


def test_a_wrong_password_or_user(guarded: EmbeddedMetastore, ann: LoginSettings, tmp_path: Path) -> None:
    wrong = LoginSettings(user="ann", password_file=written_file(tmp_path / "wrong", "another horse"))
    message = refusal(guarded.uri, wrong)
    assert f"the metastore at {guarded.uri} refuses the login of 'ann': " in message
    assert f"the password in {wrong.password_file}" in message
    assert "refuses the login of 'bob'" in refusal(
        guarded.uri, LoginSettings(user="bob", password_file=ann.password_file)
    )


def test_a_wrong_password_parks_nothing(guarded: EmbeddedMetastore, tmp_path: Path) -> None:
    file = written_file(tmp_path / "password", "another")
    target = hms_target(settings(guarded, login={"user": "ann", "password_file": file}))
    with pytest.raises(Unavailable, match="refuses the login of 'ann'"):
        target.apply(Source().put_database("later"))
    file.write_text(SECRET, encoding="utf-8")  # put right, without a restart
    assert target.apply(Source().put_database("later")) == Outcome.APPLIED
    target.close()


def test_no_login_where_one_is_asked_for(guarded: EmbeddedMetastore) -> None:
    message = failure(guarded.uri)
    assert "needs a SASL login" in message or "a client certificate, a login" in message


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        (SECRET, 0o644, "chmod 600"),
        ("", 0o600, "must hold one line of text"),
        ("a\nb", 0o600, "must hold one line of text"),
    ],
)
def test_a_file_that_will_not_do(guarded: EmbeddedMetastore, tmp_path: Path, text: str, mode: int, words: str) -> None:
    login = LoginSettings(user="ann", password_file=written_file(tmp_path / "password", text, mode))
    assert words in refusal(guarded.uri, login)


def test_a_file_that_is_not_there(guarded: EmbeddedMetastore, tmp_path: Path) -> None:
    login = LoginSettings(user="ann", password_file=tmp_path / "none")
    assert f"cannot read the password file {tmp_path}/none" in refusal(guarded.uri, login)
