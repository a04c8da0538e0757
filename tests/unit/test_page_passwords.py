"""The password file: hashes only, for its owner only, and never a word of it in a message."""

from __future__ import annotations

import subprocess
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from argon2 import PasswordHasher

from pysync.base.errors import UsageError
from pysync.web.passwords import Passwords, set_password
from tests.support.sidecars import pysync_here

RIGHT = "correct horse battery"


@pytest.fixture
def file(tmp_path: Path, cheap_hashes: None) -> Path:
    path = tmp_path / "passwords"
    set_password(path, "alice", RIGHT)
    return path


def test_the_file_holds_a_hash_of_a_known_kind_and_is_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    set_password(file, "alice", RIGHT)
    text = file.read_text()
    assert text.startswith("alice:$argon2id$v=19$m=65536,t=3,p=4$")
    assert RIGHT not in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_right_password_proves_who_it_is_and_no_other_does(file: Path) -> None:
    passwords = Passwords(file)
    assert passwords.proof("alice", RIGHT) == passwords.hashes()["alice"]
    wrong = [("alice", "wrong"), ("alice", ""), ("mallory", RIGHT), ("", ""), ("alice", RIGHT + "\0"), ("ALICE", RIGHT)]
    assert [passwords.proof(*it) for it in wrong] == [None] * len(wrong)


def test_a_name_that_is_not_known_is_compared_all_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the time of an answer would tell who exists."""
    compared: list[str] = []
    verify = PasswordHasher.verify

    def counted(self: PasswordHasher, known: str, password: str) -> bool:
        compared.append(known.rpartition("$")[0].rpartition("$")[0])
        return verify(self, known, password)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    for user in ("alice", "nobody"):
        assert Passwords(file).proof(user, "wrong") is None
    assert len(compared) == 2
    assert compared[0] == compared[1], "the cost of a hash is in its head"


def test_a_changed_password_counts_at_once_and_others_stay(file: Path) -> None:
    passwords = Passwords(file)
    assert set_password(file, "bob", "another one of bob's") is False
    assert set_password(file, "alice", "a new one of alice's") is True
    assert passwords.proof("alice", RIGHT) is None
    assert passwords.proof("alice", "a new one of alice's") is not None
    assert passwords.proof("bob", "another one of bob's") is not None


@pytest.mark.parametrize("user", ["", "a b", "a:b", "a\nb", "<b>", "-a", "a" * 65, "ü"])
def test_a_name_that_would_break_the_file_is_refused(file: Path, user: str) -> None:
    with pytest.raises(UsageError, match="is not a valid user name"):
        set_password(file, user, RIGHT)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_a_password_too_short_or_too_long_is_refused_and_not_repeated(file: Path, password: str) -> None:
    before = file.read_text()
    with pytest.raises(UsageError, match="characters") as error:
        set_password(file, "alice", password)
    assert not password or password not in str(error.value)
    assert file.read_text() == before


@pytest.mark.parametrize(
    "text", ["", "alice", "alice:secret-in-plain", "alice:$2b$12$abc", ":$argon2id$v=19$", "# none"]
)
def test_anything_but_users_with_hashes_is_refused_without_being_shown(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=r"is not a user with|has no user") as error:
        Passwords(file).hashes()
    assert "secret-in-plain" not in str(error.value)
    assert "pysync web-password" in str(error.value)


def test_a_file_that_others_can_read_is_refused(file: Path) -> None:
    file.chmod(0o640)
    with pytest.raises(UsageError, match=r"the password file .* can be read by other users"):
        Passwords(file).hashes()


def test_a_directory_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(UsageError, match="other users can replace the password file"):
        set_password(tmp_path / "open" / "passwords", "alice", RIGHT)


def test_a_file_that_is_not_there_is_told_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist; create it: pysync web-password"):
        Passwords(tmp_path / "none").hashes()


def web_password(*arguments: object, typed: str) -> subprocess.CompletedProcess[str]:
    with patch("sys.stdin", StringIO(typed)):
        return pysync_here("web-password", *arguments)


def test_the_command_takes_the_password_from_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    done = web_password(file, "alice", typed=f"{RIGHT}\nmore\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}: added alice\n", "")
    assert Passwords(file).proof("alice", RIGHT)
    assert web_password(file, "alice", typed="the other password\n").stdout == f"{file}: changed alice\n"


def test_a_password_that_is_no_text_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match="characters that are no text"):
        set_password(file, "alice", "half of a pair \udcff")


def test_a_wrong_name_is_told_before_the_password_is_asked_for(tmp_path: Path) -> None:
    done = web_password(tmp_path / "passwords", "a:b", typed="")
    assert done.stderr.startswith("pysync: 'a:b' is not a valid user name; use up to 64")


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    done = web_password(tmp_path / "passwords", "alice", typed="short\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pysync: the password has 5 characters; use 12 to 1,024\n"
    assert not (tmp_path / "passwords").exists()
