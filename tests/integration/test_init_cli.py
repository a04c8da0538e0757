"""`pysync init` and `uninstall` as a person and as a script meet them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pysync.config import load_config
from pysync.hive_site import to_xml
from pysync.setup.agent import LISTENER
from tests.support.hive_sites import APACHE, CDP, EMR
from tests.support.installs import ME, Host
from tests.support.sidecars import command, pysync
from tests.support.terminal import Terminal, terminal

GIVEN = ["--source-name=east", "--target-kind=hms", "--target-metastore=thrift://b:9083"]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def places(host: Host) -> list[str]:
    """The options that say where, none that answers a question."""
    return [f"--config-dir={host.etc}", f"--state-dir={host.var}", f"--unit-dir={host.units}"]


@pytest.fixture
def asked(host: Host) -> Iterator[Terminal]:
    """A terminal with a running `pysync init`."""
    environment = {"HIVE_HOME": str(host.root), "HIVE_CONF_DIR": str(host.site.parent), "NO_COLOR": "1"}
    with terminal(command(["init", *places(host)]), environment) as shown:
        yield shown


def test_it_asks_on_a_terminal_until_each_answer_will_do(host: Host, asked: Terminal) -> None:
    asked.expect("The user that HMS runs as. pysync runs as the same.\n")
    asked.answer("  user [hive]", "nosuchuser")
    asked.expect("Error: this machine has no user 'nosuchuser'")
    asked.answer("  user [hive]", ME)
    asked.answer(f"  hive-site.xml [{host.site}]", str(host.lib))
    asked.expect(f"Error: cannot read {host.lib}: Is a directory")
    asked.answer(f"  hive-site.xml [{host.site}]", "")
    asked.answer(f"  jar directory [{host.lib}]", str(host.root / "no"))
    asked.expect(f"Error: there is no directory {host.root}/no")
    asked.answer(f"  jar directory [{host.lib}]", "")
    asked.expect("The name of this cluster.")
    asked.answer("  source name", "my cluster")
    asked.expect("Error: 'my cluster' is not a valid name; use up to 64 letters")
    asked.answer("  source name", "onprem")
    asked.answer("  source metastore [thrift://localhost:9083]", "")
    asked.answer("  target kind", "hive")
    asked.expect("Error: 'hive' is not a kind of target; write hms, glue, athena, spark")
    asked.answer("  target kind", "hms")
    asked.answer("  target name [dr]", "")
    asked.answer("  target metastore", "dr-hms")
    asked.expect("Error: 'dr-hms' is not a metastore address")
    asked.answer("  target metastore", "thrift://dr-hms")
    asked.answer("  location", "hdfs://adh1=hdfs")
    asked.expect("Error: 'hdfs://adh1=hdfs' is not a pair of locations")
    asked.answer("  location", "hdfs://adh1/w=hdfs://adh2/w")
    asked.expect("what it will do")
    asked.answer("Do this? [y/N]", "y")
    assert asked.end() == 0, asked.shown
    config = load_config(host.etc / "pysync.toml")
    assert (config.source.name, config.source.metastore) == ("onprem", "thrift://localhost:9083")
    assert [(it.name, it.kind, it.locations) for it in config.targets] == [
        ("dr", "hms", {"hdfs://adh1/w": "hdfs://adh2/w"})
    ]
    assert "pysync.source.name = onprem" in asked.shown
    assert (host.lib / "pysync-listener.jar").is_file()
    assert "Next:\n" in asked.shown
    assert "Traceback" not in asked.shown


def test_none_is_an_answer_too(host: Host) -> None:
    given = [
        *places(host),
        *GIVEN,
        f"--user={ME}",
        "--target-name=dr",
        "--source-metastore=thrift://a:1",
        "--no-systemd",
    ]
    with terminal(
        command(["init", *given, "--location=hdfs://a/b=hdfs://c/d"]), {"HIVE_HOME": str(host.root)}
    ) as asked:
        asked.answer(f"  hive-site.xml [{host.site}]", "none")
        asked.answer(f"  jar directory [{host.lib}]", "none")
        asked.answer("Do this? [y/N]", "y")
        assert asked.end() == 0, asked.shown
    assert (host.site.read_text(), (host.lib / "pysync-listener.jar").exists()) == (EMR, False)


def test_a_wrong_option_is_told_before_anything_is_asked(host: Host) -> None:
    with terminal(command(["init", *places(host), "--user=nosuchuser", "--source-name=a b"])) as asked:
        assert asked.end() == 2
    assert len(asked.shown.splitlines()) == 2, asked.shown


def test_a_second_run_on_a_terminal_asks_no_more_than_it_must(host: Host) -> None:
    assert pysync("init", *host.options(), *GIVEN).returncode == 0
    with terminal(command(["init", *places(host)]), {"NO_COLOR": "1"}) as again:
        again.answer(f"  user [{ME}]", "")
        again.answer(f"  hive-site.xml [{host.site}]", "")
        again.answer(f"  jar directory [{host.lib}]", "")
        assert again.end() == 0, again.shown
    assert "nothing to do: everything exists already" in again.shown


def test_it_shows_what_it_will_do_and_does_it_only_if_asked_to(host: Host) -> None:
    before = host.tree()
    line = command(["init", *host.options(), *GIVEN, "--source-metastore=thrift://a:1", "--target-name=dr"])
    line += ["--location=hdfs://a/b=hdfs://c/d"]
    with terminal(line, {"NO_COLOR": "1"}) as asked:
        for it in ("configuration directory", f"{host.site}: pysync.source.name = east"):
            asked.expect(it)
        asked.answer("Do this? [y/N]", "")
        assert asked.end() == 1, asked.shown
    assert ("nothing was changed" in asked.shown, host.tree()) == (True, before)
    with terminal([*line, "--yes"], {"NO_COLOR": "1"}) as asked:
        assert asked.end() == 0, asked.shown
    assert ("Do this?" in asked.shown, (host.etc / "pysync.toml").exists()) == (False, True)


def test_questions_are_broken_at_spaces(host: Host) -> None:
    with terminal(command(["init", *host.options()]), {"NO_COLOR": "1", "COLUMNS": "60"}) as asked:
        asked.answer("  source name", "east")
        asked.answer("  source metastore", "")
        asked.expect("  target kind")
        asked.process.kill()
    text = asked.shown.partition("Where changes go")[2].partition("  target kind")[0]
    assert max(map(len, text.splitlines())) <= 60
    assert "by its API or by Athena)" in " ".join(text.split()), "no word is broken"


def agents_site(host: Host) -> Path:
    """A hive-site.xml that configures AWS's agent."""
    values = {"hive.metastore.event.listeners": LISTENER, "glue.catalog.region": "eu-west-2"}
    file = host.root / "agent" / "hive-site.xml"
    file.parent.mkdir()
    file.write_text(
        to_xml({**values, "hive.metastore.uris": "thrift://emr:9083", "glue.catalog.user.secret": "wJalrX"})
    )
    return file


def test_the_settings_of_an_agent_become_the_target(host: Host) -> None:
    file = agents_site(host)
    line = command(["init", *places(host), f"--user={ME}", f"--from-agent={file}", "--no-systemd"])
    with terminal(line, {"NO_COLOR": "1"}) as asked:
        asked.answer(f"  hive-site.xml [{file}]", "")
        asked.answer("  jar directory [", "none")
        asked.answer("  source name", "east")
        asked.answer("  source metastore [thrift://emr:9083]", "")
        asked.answer("Do this? [y/N]", "y")
        assert asked.end() == 0, asked.shown
    text = (host.etc / "pysync.toml").read_text()
    config = load_config(host.etc / "pysync.toml")
    assert (config.source.name, config.source.metastore) == ("east", "thrift://emr:9083")
    assert [(it.kind, getattr(it, "region", None)) for it in config.targets] == [("glue", "eu-west-2")]
    assert (config.queue.directory, config.bridge.token_file) == (host.var, host.etc / "token")
    assert "say what differs from the agent" in asked.shown.replace("\n", " ")
    assert ((host.etc / "token").is_file(), "# - Remove" in text, "wJalrX" in text + asked.shown) == (True, True, False)


def test_the_settings_of_an_agent_need_a_name_and_exclude_another_target(host: Host) -> None:
    given = [*host.options(), f"--from-agent={agents_site(host)}"]
    assert "missing options: --source-name; give them" in pysync("init", *given).stderr
    reported = pysync("init", *given, "--source-name=east", "--target-kind=glue", "--region=eu-west-1").stderr
    assert "--from-agent and --target-kind exclude each other" in reported
    assert not host.etc.exists()
    assert pysync("init", *host.options(), *GIVEN).returncode == 0
    notes = json.loads(pysync("init", *given, "--json").stdout)["notes"]
    assert "these options are ignored: --from-agent" in notes[0]


@pytest.mark.parametrize("how", ["end of file", "Ctrl-C"])
def test_a_person_who_leaves_has_changed_nothing(host: Host, asked: Terminal, how: str) -> None:
    before = host.tree()
    asked.answer("  user [hive]", ME)
    asked.expect("  hive-site.xml [")
    if how == "Ctrl-C":
        asked.interrupt()
    else:
        asked.answer("", "\x04")
    assert asked.end() != 0
    assert (host.tree(), "Traceback" in asked.shown) == (before, False)


def test_without_a_terminal_all_that_is_missing_is_named_at_once(host: Host) -> None:
    before = host.tree()
    done = pysync("init", *host.options())
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line == (
        "pysync: missing options: --source-name, --target-kind, --target-metastore (hms, spark), --region (glue, "
        "athena), --staging or --work-group (athena); give them, or run pysync init on a terminal"
    )
    for kind, flags in (
        ("hms", "--target-metastore"),
        ("athena", "--region, --staging or --work-group"),
        ("spark", ""),
    ):
        env = {key: it for key, it in os.environ.items() if not key.startswith("AWS_")}
        line = command(["init", *host.options(), f"--target-kind={kind}"])
        output = subprocess.run(line, env=env, capture_output=True, text=True, timeout=60, check=False).stderr
        expected = ", ".join(it for it in ("--source-name", flags) if it)
        assert f"missing options: {expected}; give them" in output
    assert host.tree() == before


def test_all_that_is_wrong_is_told_at_once(host: Host) -> None:
    before = host.tree()
    wrong = ["--user=nosuchuser", "--target-kind=hms", "--source-name=a b", "--target-metastore=x", "--location=hdfs"]
    done = pysync("init", *host.options(), *wrong, f"--hive-lib={host.root}/no")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 5)
    for words in (
        "--source-name: 'a b' is not a valid name",
        "--target-metastore: 'x' is not a metastore address",
        "--location: 'hdfs' is not a pair of locations",
        "no user 'nosuchuser'",
        f"there is no directory {host.root}/no",
    ):
        assert words in done.stderr
    assert host.tree() == before


def test_an_option_of_another_kind_is_refused(host: Host) -> None:
    done = pysync("init", *host.options(), *GIVEN, "--region=eu-west-1")
    assert (done.returncode, done.stderr) == (2, "pysync: --region: a target of kind hms has no such setting\n")
    assert not host.etc.exists()


@pytest.mark.parametrize("kind", ["glue", "athena", "spark"])
def test_every_kind_can_be_chosen(host: Host, kind: str) -> None:
    given = {"glue": ["--region=eu-west-1"], "athena": ["--region=eu-west-1", "--staging=s3://b/x/"], "spark": []}
    done = pysync("init", *host.options(), "--source-name=east", f"--target-kind={kind}", *given[kind])
    assert done.returncode == 0, done.stderr
    (target,) = load_config(host.etc / "pysync.toml").targets
    assert (target.kind, target.name) == (kind, {"glue": "catalog"}.get(kind, "lake"))


def test_an_athena_target_takes_a_work_group_in_place_of_a_location(host: Host) -> None:
    given = ["--source-name=east", "--target-kind=athena", "--region=eu-west-1", "--work-group=etl"]
    done = pysync("init", *host.options(), *given)
    assert done.returncode == 0, done.stderr
    target: Any = load_config(host.etc / "pysync.toml").targets[0]
    assert (target.work_group, target.staging) == ("etl", None)


def test_an_athena_target_is_asked_about_its_work_group_first(host: Host) -> None:
    given = [*places(host), f"--user={ME}", "--source-name=east", "--source-metastore=thrift://a:1", "--no-systemd"]
    given += ["--target-kind=athena", "--target-name=lake", "--region=eu-west-1", "--location=hdfs://a/b=s3://c/d"]
    with terminal(command(["init", *given]), {"NO_COLOR": "1"}) as asked:
        asked.answer("  hive-site.xml [", "none")
        asked.answer("  jar directory [", "none")
        asked.answer("  work group", "no/group")
        asked.expect("Error: 'no/group' is not a work group")
        asked.answer("  work group", "")
        asked.answer("  staging", "etl")
        asked.expect("Error: 'etl' is not an S3 location")
        asked.answer("  staging", "s3://bucket/athena/")
        asked.answer("Do this? [y/N]", "y")
        assert asked.end() == 0, asked.shown
    target: Any = load_config(host.etc / "pysync.toml").targets[0]
    assert (target.work_group, target.staging) == (None, "s3://bucket/athena/")


def test_options_that_an_existing_pysync_toml_overrides_are_named(host: Host) -> None:
    assert pysync("init", *host.options(), *GIVEN).returncode == 0
    file = host.etc / "pysync.toml"
    before = file.read_text()
    other = ["--source-name=east", "--target-metastore=thrift://c:9083", "--location=hdfs://a/b=hdfs://c/d"]
    done = pysync("init", *host.options(), *other, "--bridge-port=4711", "--json")
    assert (done.returncode, file.read_text()) == (0, before)
    assert json.loads(done.stdout)["notes"] == [
        f"{file} exists, so its settings are used and these options are ignored: --target-metastore, --location, "
        "--bridge-port; edit the file"
    ]
    file.write_text(before + "# edited\n")
    assert json.loads(pysync("init", *host.options(), *GIVEN, "--json").stdout)["notes"] == []


def test_as_json_it_tells_what_was_done_and_what_comes_next(host: Host) -> None:
    found = json.loads(pysync("init", *host.options(), *GIVEN, "--json").stdout)
    assert (found["changed"], found["dry_run"], found["notes"]) == (True, False, [])
    assert {it["state"] for it in found["steps"]} == {"create", "change"}
    assert found["hive_site"]["pysync.bridge.token.file"] == str(host.etc / "token")
    assert [line.split("/")[-1] for line in found["next"] if " check " in line] == ["pysync.toml"]
    again = json.loads(pysync("init", *host.options(), *GIVEN, "--json").stdout)
    assert (again["changed"], {it["state"] for it in again["steps"]}) == (False, {"unchanged"})


def test_a_dry_run_shows_every_file_and_writes_none(host: Host) -> None:
    before = host.tree()
    done = pysync("init", *host.options(), *GIVEN, "--dry-run")
    assert (done.returncode, host.tree()) == (0, before)
    for words in ("nothing is written", 'name = "east"', f"ExecStart={Path(command([])[0]).parent}/pysync run -c"):
        assert words in done.stdout
    assert f"{host.site}: pysync.source.name = east" in done.stdout


def test_without_a_hive_site_the_properties_are_printed(host: Host) -> None:
    done = pysync("init", *places(host), f"--user={ME}", *GIVEN, "--no-systemd")
    assert done.returncode == 0, done.stderr
    assert "hive-site.xml of HMS needs these properties:\n\n<?xml" in done.stdout
    assert f"<value>{host.etc}/token</value>" in done.stdout
    assert list(host.units.iterdir()) == []
    assert host.site.read_text() == EMR


def test_the_token_is_never_shown(host: Host) -> None:
    done = pysync("init", *host.options(), *GIVEN)
    token = (host.etc / "token").read_text().strip()
    again = pysync("init", *host.options(), "--dry-run")
    shown = done.stdout + done.stderr + again.stdout + (host.etc / "installed.json").read_text() + host.site.read_text()
    assert (len(token), token in shown) == (64, False)


@pytest.mark.parametrize("form", [APACHE, EMR, CDP])
def test_hive_site_merges_and_unmerges_as_init_does(host: Host, form: str) -> None:
    host.init()
    host.site.write_bytes(form.encode())
    file = host.etc / "pysync.toml"
    merged = pysync("hive-site", "-c", file, "--merge", host.site)
    assert (merged.returncode, "what it was before: " in merged.stdout) == (0, True), merged.stderr
    assert "<value>/var/lib/pysync/spool</value>" in host.site.read_text()
    again = pysync("hive-site", "-c", file, "--merge", host.site)
    assert again.stdout == f"{host.site}: nothing to do\n"
    assert pysync("hive-site", "-c", file, "--unmerge", host.site).returncode == 0
    assert host.site.read_bytes() == form.encode()
    both = pysync("hive-site", "-c", file, "--merge", host.site, "--unmerge", host.site)
    assert (both.returncode, both.stderr) == (2, "pysync: --merge and --unmerge exclude each other; give one of them\n")


def test_a_malformed_hive_site_is_named_with_line_and_column(host: Host) -> None:
    host.site.write_text("<configuration>\n  <property>\n</configuration>\n")
    before = host.tree()
    done = pysync("init", *host.options(), *GIVEN)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"pysync: {host.site}:3:3: mismatched tag; repair the XML; nothing was changed\n"
    assert host.tree() == before
