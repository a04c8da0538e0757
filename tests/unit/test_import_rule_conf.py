"""What the pysync.toml of an imported rule says besides, and the command that prints it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pysync.base.errors import UsageError
from pysync.cli.app import app
from pysync.setup.rule_config import import_rules
from pysync.setup.rule_text import Text
from tests.support.ssm import FULL, NO_SOURCE, PLAIN, Load, importing


@pytest.fixture
def imported(tmp_path: Path) -> Load:
    return importing(tmp_path)


# --- several rules


def test_rules_that_differ_in_their_names_alone_become_one_target(imported: Load) -> None:
    _, config = imported(f"{FULL}\n{FULL.replace('test_db', 'sales')}\n{FULL}\n")
    (target,) = config.targets
    assert target.include == ("test_db.*", "sales.*")


@pytest.mark.parametrize(
    "other", [FULL.replace("-cascade", ""), FULL.replace('adh2"', 'adh3"'), FULL + " -exclude DROP"]
)
def test_rules_that_differ_otherwise_become_targets_of_their_own(imported: Load, other: str) -> None:
    found, config = imported(f"{FULL}\n{other.replace('test_db', 'sales')}\n")
    assert [target.name for target in config.targets] == ["ka-adh2-3", "ka-adh2-3-2"]
    assert found.text.count("# hms : name matches") == 2


def test_an_exclude_is_for_the_names_of_its_own_rule(imported: Load) -> None:
    one = 'hms : name matches "a*" and not name matches "ab.*" | hms-sync -dest thrift://dr'
    two = 'hms : name matches "ab.*" | hms-sync -dest thrift://dr'
    _, config = imported(f"{one}\n{two}\n{two.replace('ab', 'c')}\n")
    assert [(it.name, it.include, it.exclude) for it in config.targets] == [
        ("dr", ("a*",), ("ab.*",)),
        ("dr-2", ("ab.*", "c.*"), ()),
    ]


@pytest.mark.parametrize(
    ("destination", "name", "metastore"),
    [
        ("thrift://dr", "dr", "thrift://dr:9083"),
        ("thrift://a.example:9084,thrift://b.example", "a", "thrift://a.example:9084,thrift://b.example:9083"),
        ("thrift://10.0.0.7:9083", "10-0-0-7", "thrift://10.0.0.7:9083"),
        ("thrift://[::1]:9083", "1", "thrift://[::1]:9083"),
        ("thrift://_:9083", "dr", "thrift://_:9083"),
    ],
)
def test_the_name_of_the_target_is_that_of_its_host(
    imported: Load, destination: str, name: str, metastore: str
) -> None:
    _, config = imported(f'name matches "db.*" | hms-sync -dest {destination}')
    assert (config.targets[0].name, config.targets[0].metastore) == (name, metastore)


@pytest.mark.parametrize(
    ("text", "words", "not_said"),
    [
        (PLAIN, "cascade = false parks the drop", "takes only tables that this source"),
        (FULL, "takes only tables that this source", "cascade = false parks the drop"),
        (FULL, "locations change hdfs://NAMESERVICE", "NOT taken over"),
        (PLAIN, "Stop the rules in SSM", "locations change"),
    ],
)
def test_what_is_different_is_said_once(imported: Load, text: str, words: str, not_said: str) -> None:
    found, _ = imported(text)
    assert found.text.count(words) == 1
    assert not_said not in found.text


# --- the command


def invoke(*arguments: str, **more: Any) -> Any:
    return CliRunner().invoke(app, ["import-rule", *arguments], **more)


def test_the_command_reads_an_argument_a_file_and_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_text(f"# of the DR site\n{FULL}\n", encoding="utf-8")
    wanted = import_rules(Text(FULL), "emr1").text
    for done in (
        invoke(FULL, "--source", "emr1"),
        invoke("--file", str(file), "--source", "emr1"),
        invoke("-", "--source", "emr1", input=FULL),
    ):
        assert (done.exit_code, done.stdout) == (0, wanted), done.output
        assert done.stderr == f"warning: {NO_SOURCE}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "import-rule needs a rule"),
        ((FULL, "--file", "x"), "RULE and --file exclude each other"),
        (("--file", "absent"), "cannot read absent: No such file or directory"),
        (("name",), "line 1, column 5: the rule has no action"),
    ],
)
def test_the_command_refuses_with_2(arguments: tuple[str, ...], message: str) -> None:
    done = invoke(*arguments)
    assert isinstance(done.exception, UsageError)
    assert (done.exception.exit_code, done.stdout) == (2, "")
    assert message in done.exception.message


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_text(f"{FULL}\nhms : x\n", encoding="utf-8")
    with pytest.raises(UsageError, match=rf"^{re.escape(str(file))}: line 2, column 8: the rule has no action"):
        import_rules(Text(file.read_text(), str(file)), "onprem")
    file.write_bytes(b"\xff\xfe")
    assert "is not text in UTF-8" in str(invoke("--file", str(file)).exception)
