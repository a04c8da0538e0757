"""The file of the bridge's secret: read only where nobody else can read it, change it, or put another in its place."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest

from pysync.base import token
from pysync.base.errors import UsageError
from pysync.base.token import read_token, write_token

TOKEN = string.hexdigits * 2


def token_file(tmp_path, content, mode=0o600):
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(mode)
    return file


def test_a_token_is_read_without_the_line_end(tmp_path):
    assert read_token(token_file(tmp_path, TOKEN + "\n")) == TOKEN


def test_a_token_that_only_its_owner_may_read_is_well(tmp_path):
    assert read_token(token_file(tmp_path, TOKEN, mode=0o400)) == TOKEN


def test_a_missing_token_file_is_named_with_what_makes_one(tmp_path):
    with pytest.raises(UsageError, match=r"absent does not exist; create it: pysync token .*absent"):
        read_token(tmp_path / "absent")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o610, 0o602])
def test_a_token_file_that_others_may_use_is_refused(tmp_path, mode):
    with pytest.raises(UsageError, match="can be read by other users; chmod 600"):
        read_token(token_file(tmp_path, TOKEN, mode))


@pytest.mark.parametrize("content", ["", "\n", "short", "x" * 15, f"{TOKEN} {TOKEN}", f"{TOKEN}\n{TOKEN}"])
def test_a_file_without_a_token_is_refused_and_never_shown(tmp_path, content):
    with pytest.raises(UsageError, match="holds no token") as refused:
        read_token(token_file(tmp_path, content))
    assert not content.strip() or content.strip() not in str(refused.value)


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_bytes(b"\xff" * 40)])
def test_what_cannot_be_read_as_a_token_is_refused(tmp_path, make):
    make(tmp_path / "token")
    with pytest.raises(UsageError, match="cannot read the token file"):
        read_token(tmp_path / "token")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720, 0o702])
@pytest.mark.parametrize("above", [1, 2])
def test_a_directory_that_others_may_write_in_is_refused(tmp_path, mode, above):
    """Whoever may do that puts another file in the token's place."""
    directory = tmp_path / "outer" / "inner"
    directory.mkdir(parents=True)
    file = token_file(directory, TOKEN)
    opened = file.parents[above - 1]
    opened.chmod(mode)
    with pytest.raises(
        UsageError, match=f"other users can replace the token file .* can write to {opened}; chmod go-w"
    ):
        read_token(file)
    with pytest.raises(UsageError, match="other users can replace"):
        write_token(directory / "new")
    assert not (directory / "new").exists()
    opened.chmod(0o1777)  # as /tmp: there nobody replaces what is not theirs
    assert read_token(file) == TOKEN


def test_the_directory_of_a_link_counts_and_that_of_what_it_leads_to(tmp_path):
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    token_file(real, TOKEN)
    (links / "token").symlink_to(real / "token")
    assert read_token(links / "token") == TOKEN
    for directory in (real, links):
        directory.chmod(0o777)
        with pytest.raises(UsageError, match=f"they can write to {directory}"):
            read_token(links / "token")
        directory.chmod(0o755)


def test_a_token_of_another_user_is_refused(tmp_path, monkeypatch):
    file = token_file(tmp_path, TOKEN)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    monkeypatch.setattr(token, "_ROOT", -1)  # who runs this may be root
    with pytest.raises(UsageError, match="belongs to another user; chown it"):
        read_token(file)


def test_a_directory_of_another_user_is_refused(tmp_path, monkeypatch):
    file = token_file(tmp_path, TOKEN)
    real = Path.stat

    def stat(path, **options):
        found = list(real(path, **options))
        found[4] += 4711 if path == tmp_path else 0
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(token, "_ROOT", -1)  # who runs this may be root
    with pytest.raises(UsageError, match=f"they can write to {tmp_path}; chmod go-w {tmp_path}, chown the directory"):
        read_token(file)


def test_root_is_told_to_act_as_the_owner_of_a_directory(tmp_path, monkeypatch):
    """Before: to take write access from others, who had none, or to chown what the sidecar needs."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(token, "_ROOT", 0)
    monkeypatch.setattr(token, "_is_others", lambda _: True)
    monkeypatch.setattr(token, "owner_name", lambda _: "hive")
    file = tmp_path / "api-token"
    with pytest.raises(UsageError, match=r"run the command as its owner: runuser -u hive -- pysync …$"):
        write_token(file)
    assert not file.exists()


def test_the_directories_of_a_new_token_are_made_for_its_owner_alone(tmp_path):
    """Also with a umask that would let a group write in them, for which the token would be refused afterwards."""
    before = os.umask(0o002)
    try:
        write_token(tmp_path / "etc" / "pysync" / "token")
    finally:
        os.umask(before)
    assert [oct(it.stat().st_mode & 0o777) for it in (tmp_path / "etc", tmp_path / "etc" / "pysync")] == ["0o755"] * 2
    assert len(read_token(tmp_path / "etc" / "pysync" / "token")) == 64


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*/file/token: "):
        write_token(tmp_path / "file" / "token")
