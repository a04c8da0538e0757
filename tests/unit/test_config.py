"""pysync.toml: what is wrong is said all at once, each thing by the key that it is about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pysync import config as config_module
from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.targets.kinds import TargetKind
from pysync.targets.settings import TargetSettings

ROOT = Path(__file__).parents[2]
SOURCE = '[source]\nname = "onprem"\n'
TARGET = '[[targets]]\nname = "dr"\nkind = "fake"\n'


@pytest.fixture(autouse=True)
def fake_kind(monkeypatch):
    """A kind `fake` beside those that are installed."""
    real = config_module.target_kind

    def kind(name):
        return TargetKind(TargetSettings, open=lambda _: None) if name == "fake" else real(name)

    monkeypatch.setattr(config_module, "target_kind", kind)


@pytest.fixture
def load(tmp_path):
    def write_and_load(text):
        file = tmp_path / "pysync.toml"
        file.write_text(text, encoding="utf-8")
        return load_config(file)

    return write_and_load


@pytest.fixture
def problems(load, tmp_path):
    """What is said of a text, without the file's name and the place that begin each line."""

    def refused(text):
        with pytest.raises(UsageError) as error:
            load(text)
        lines = str(error.value).splitlines()
        start = re.compile(rf"{re.escape(str(tmp_path / 'pysync.toml'))}(:\d+:\d+)?: ")
        assert [line for line in lines if not start.match(line)] == []
        return [start.sub("", line, count=1) for line in lines]

    return refused


def test_a_short_file_is_enough(load):
    config = load(SOURCE + TARGET)
    assert (config.source.name, config.bridge.port, config.queue.min_free_mb) == ("onprem", 25333, 256)
    assert (config.targets[0].name, config.targets[0].drops, config.targets[0].on_conflict) == ("dr", "apply", "park")


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("90m", 5400), ("7d", 604_800)])
def test_how_long_history_is_kept(load, text, seconds):
    assert load(SOURCE + TARGET).queue.retain == 7 * 86400
    assert load(SOURCE + f"[queue]\nretain = '{text}'\n" + TARGET).queue.retain == seconds


def test_the_file_that_is_shipped_is_right(monkeypatch):
    config = load_config(ROOT / "conf" / "pysync.toml")
    assert [(target.name, target.kind) for target in config.targets] == [("dr", "hms")]


def test_what_the_shipped_file_shows_as_default_is_the_default():
    """Every `# key = value` outside of examples: taken in, it must change nothing."""
    shown = ROOT / "conf" / "pysync.toml"
    plain = load_config(shown)
    keys = (
        "port",
        "token_file",
        "directory",
        "min_free_mb",
        "retain",
        "retain_mb",
        "level",
        "format",
        "drops",
        "trash_database",
        "trash_keep",
        "max_calls_per_second",
        "delete_data",
        "on_conflict",
    )
    keys += ("window", "retry_max_seconds", "retry_attempts", "timeout_seconds", "cluster")
    for key in keys:
        lines = [line for line in shown.read_text().splitlines() if line.startswith(f"# {key} = ")]
        # port: of the bridge and of the web server; timeout_seconds: of a call to a metastore, and to Glue.
        assert len(lines) == (2 if key in {"port", "timeout_seconds"} else 1), f"conf/pysync.toml: {key}"
    assert plain.bridge.port == 25333


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SOURCE + "colour = 1\n" + TARGET, "source.colour: unknown key"),
        (SOURCE + "[bridge]\nprot = 1\n" + TARGET, "bridge.prot: unknown key; did you mean port?"),
        (SOURCE + "[sauce]\nname = 'x'\n" + TARGET, "sauce: unknown key; did you mean source?"),
        (SOURCE + TARGET + "polcy = 'a'\n", "targets[0].polcy: unknown key; did you mean policy?"),
        (SOURCE + TARGET + "hive_version = '2.3'\n", "targets[0].hive_version: unknown key; set it in [source]"),
        (TARGET, "source: missing"),
        ("[source]\n" + TARGET, "source.name: missing"),
        (SOURCE + "[[targets]]\nkind = 'fake'\n", "targets[0].name: missing"),
        (SOURCE + "[[targets]]\nname = 'a'\n", "targets[0].kind: missing"),
        (SOURCE, "targets: missing; add at least one [[targets]] table, in double brackets"),
        ("targets = []\n" + SOURCE, "targets: missing; add at least one [[targets]] table, in double brackets"),
        (
            SOURCE + TARGET.replace("[[targets]]", "[targets]"),
            "targets: missing; add at least one [[targets]] table, in double brackets",
        ),
        ("targets = 5\n" + SOURCE, "targets: missing; add at least one [[targets]] table, in double brackets"),
        ("targets = 'dr'\n" + SOURCE, "targets: missing; add at least one [[targets]] table, in double brackets"),
        ("targets = ['dr']\n" + SOURCE, "targets[0].kind: missing"),
        (SOURCE + TARGET + TARGET, "targets: two targets have the name 'dr'; every target needs its own name"),
        (
            SOURCE + TARGET.replace("dr", "onprem"),
            "targets: 'onprem' has the name of the source as its cluster (or name), so it would get no changes",
        ),
        (
            SOURCE + TARGET + "cluster = 'onprem'\n",
            "targets: 'dr' has the name of the source as its cluster (or name), so it would get no changes",
        ),
    ],
)
def test_a_problem_is_named_with_its_key(problems, text, problem):
    assert problems(text) == [problem]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (SOURCE + "[bridge]\nport = 70000\n" + TARGET, "bridge.port"),
        (SOURCE + "[queue]\nmin_free_mb = -1\n" + TARGET, "queue.min_free_mb"),
        *(
            (SOURCE + f"[queue]\nretain = {it}\n" + TARGET, "queue.retain")
            for it in ("'7'", "'-1d'", "'07d'", "'1w'", 7)
        ),
        (SOURCE + "[log]\nlevel = 'loud'\n" + TARGET, "log.level"),
        ("[source]\nname = 'a b'\n" + TARGET, "source.name"),
        ("[source]\nname = 'a,b'\n" + TARGET, "source.name"),
        ("source = 'onprem'\n" + TARGET, "source"),
        (SOURCE + TARGET + "exclude_kinds = ['DROP_MOON']\n", "targets[0].exclude_kinds[0]"),
        (SOURCE + TARGET + "retry_attempts = 0\n", "targets[0].retry_attempts"),
        (SOURCE + TARGET + "[targets.locations]\na = 1\n", "targets[0].locations.a"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(problems, text, key):
    (problem,) = problems(text)
    assert problem.startswith(f"{key}: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            SOURCE + TARGET + "max_drops = 'many'\n",
            'targets[0].max_drops: \'many\' is not a rate; write "1000 per 30m" (s, m, h or d), or "0" for no limit',
        ),
        (
            SOURCE + "[queue]\nretain = '7'\n" + TARGET,
            'queue.retain: \'7\' is not a duration; write "30s", "5m", "12h" or "7d"',
        ),
        (
            SOURCE + "[dump]\nkeep = '0h'\n" + TARGET,
            'dump.keep: \'0h\' is not an interval; write "30m", "1h" or "1d"',
        ),
        (
            SOURCE + f"[queue]\nretain = '{'9' * 5000}d'\n" + TARGET,
            f"queue.retain: '{'9' * 79} is too long; the maximum is 3650d",
        ),
        ("status_grace = '3651d'\n" + SOURCE + TARGET, "status_grace: '3651d' is too long; the maximum is 3650d"),
        (
            SOURCE + TARGET + "max_drops = '5 per 99999d'\n",
            "targets[0].max_drops: '99999d' is too long; the maximum is 3650d",
        ),
        (
            "status_grace = 5\n" + SOURCE + TARGET,
            'status_grace: 5 is not a duration; write "30s", "5m", "12h" or "7d"',
        ),
        (
            SOURCE + TARGET + "retry_max_seconds = inf\n",
            "targets[0].retry_max_seconds: inf is not a number; write 10 or 0.5, without quotes",
        ),
        (
            SOURCE + TARGET + "parked_retry_seconds = 1e300\n",
            "targets[0].parked_retry_seconds: 1e+300 is too large; the maximum is 3.1536e+08",
        ),
        (
            SOURCE + TARGET + "max_drop_share = nan\n",
            "targets[0].max_drop_share: nan is not a number; write 10 or 0.5, without quotes",
        ),
        (
            SOURCE + TARGET + "on_conflict = 'adpot'\n",
            "targets[0].on_conflict: 'adpot' is not allowed; did you mean 'adopt'?",
        ),
        (SOURCE + TARGET + "window = 0\n", "targets[0].window: 0 is too small; the minimum is 1"),
        (SOURCE + TARGET + "lanes = 65\n", "targets[0].lanes: 65 is too large; the maximum is 64"),
        (
            SOURCE + TARGET + "retry_max_seconds = 0\n",
            "targets[0].retry_max_seconds: 0 is too small; it must be greater than 0",
        ),
        (
            SOURCE + TARGET + "drops = 'no'\n",
            "targets[0].drops: 'no' is not allowed; write 'apply', 'suppress' or 'trash'",
        ),
        (
            SOURCE + "[bridge]\nport = 'http'\n" + TARGET,
            "bridge.port: 'http' is not a whole number; write 10, without quotes",
        ),
        (
            SOURCE + TARGET + "delete_data = 'maybe'\n",
            "targets[0].delete_data: 'maybe' is not a boolean; write true or false, without quotes",
        ),
        (SOURCE + TARGET + "include = 'db'\n", 'targets[0].include: this must be a list; write ["a", "b"]'),
        (
            SOURCE + TARGET + "locations = 'file:/a'\n",
            'targets[0].locations: this must be a table; write { key = "value" }',
        ),
        (SOURCE + "[queue]\ndirectory = 7\n" + TARGET, "queue.directory: this must be a path in quotes"),
        (SOURCE + TARGET + "policy = 7\n", "targets[0].policy: this must be text in quotes"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_expected(problems, text, problem):
    assert problems(text) == [problem]


BOTH = "[[targets]]\nkind = 'hms'\nboth_ways = true\nmetastore = 'thrift://a'\n"


@pytest.mark.parametrize(
    ("source", "cluster", "expected"),
    [
        ("metastore = 'thrift://here'", "b", []),
        ("metastore = 'thrift://here'", "a", ["targets: two targets with both_ways have the cluster 'a'"]),
        ("", "b", ["source.metastore: missing"]),
        ("metastore = 'thrift://here'\ncapture = 'notification-log'", "b", ["source.capture: both_ways needs capture"]),
    ],
)
def test_both_ways_needs_a_name_for_each_cluster_a_source_to_read_and_a_listener(
    tmp_path, monkeypatch, source, cluster, expected
):
    monkeypatch.undo()  # kinds as they are
    file = tmp_path / "pysync.toml"
    other = BOTH.replace("thrift://a", "thrift://b")
    file.write_text(
        f"[source]\nname = 'onprem'\n{source}\n{BOTH}name = 'a'\n{other}name = 'two'\ncluster = '{cluster}'\n"
    )
    try:
        found = load_config(file) and []
    except UsageError as error:
        found = str(error).splitlines()
    assert len(found) == len(expected)
    assert all(start in line for start, line in zip(expected, found, strict=True))


def test_an_unknown_kind_of_target_is_named_with_those_that_there_are(problems):
    (problem,) = problems(SOURCE + TARGET.replace("fake", "oracle"))
    assert problem.startswith("targets[0].kind: there is no target kind 'oracle'; use one of: ")
    assert "hms" in problem


def test_the_kinds_package_that_is_missing_is_named(problems, monkeypatch):
    def kind(name):
        raise UsageError("target kind 'athena' needs the package boto3", "install it: pip install boto3")

    monkeypatch.setattr(config_module, "target_kind", kind)
    (problem,) = problems(SOURCE + TARGET.replace("fake", "athena"))
    assert "pip install boto3" in problem


def test_all_problems_come_at_once(problems):
    text = """
[source]
colour = 1
[bridge]
port = -1
[[targets]]
name = "dr"
kind = "fake"
polcy = "a"
[[targets]]
name = "dr"
kind = "oracle"
[[targets]]
"""
    keys = [problem.split(": ")[0] for problem in problems(text)]
    expected = [
        "source.name",
        "source.colour",
        "bridge.port",
        "targets[0].polcy",
        "targets[1].kind",
        "targets[2].kind",
        "targets",
    ]
    assert sorted(keys) == sorted(expected)


def test_a_problem_is_told_with_its_line_and_column_in_the_order_of_the_file(load, tmp_path):
    with pytest.raises(UsageError) as error:
        load(f"{SOURCE}  colour = 1\n{TARGET}lanes = 99\n")
    file = tmp_path / "pysync.toml"
    assert str(error.value).splitlines() == [
        f"{file}:3:3: source.colour: unknown key",
        f"{file}:7:1: targets[0].lanes: 99 is too large; the maximum is 64",
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[source]\nname = 'a'\nmetastor = 'thrift://a:1'\n" + TARGET, "metastore"),
        ("[sorce]\n" + SOURCE + TARGET, "source"),
        (SOURCE + TARGET + "incldue = []\n", "include"),
        (SOURCE + TARGET.replace("fake", "hms") + "metastore = 'thrift://a:1'\ntls = { cafile = 'x' }\n", "ca_file"),
    ],
)
def test_a_key_that_is_misspelt_is_told_with_the_one_that_is_meant(problems, text, meant):
    assert [line for line in problems(text) if line.endswith(f": unknown key; did you mean {meant}?")] != []


def test_two_targets_without_a_name_are_not_said_to_have_the_same(problems):
    assert problems(SOURCE + "[[targets]]\nkind='fake'\n[[targets]]\nkind='fake'\n") == [
        "targets[0].name: missing",
        "targets[1].name: missing",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read .*absent\.toml: No such file"):
        load_config(tmp_path / "absent.toml")


def test_a_directory_is_not_a_configuration(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        load_config(tmp_path)


@pytest.mark.parametrize("content", [b"[source", b"\xff\xfe", b"a = 1\na = 2\n", b"name: x\n"])
def test_what_is_not_toml_is_refused(tmp_path, content):
    file = tmp_path / "pysync.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="is not TOML"):
        load_config(file)


def test_patterns_and_renames_of_all_targets_are_looked_through_at_once(problems):
    text = SOURCE + TARGET + 'include = ["a.b.c"]\nexclude = [""]\ntables = { "a" = "b.c" }\n'
    text += '[[targets]]\nname = "lake"\nkind = "fake"\npolicy = "sales.\'(\'"\n'
    found = problems(text)
    assert [line.partition(": ")[0] for line in found] == [
        "targets[0].include",
        "targets[0].exclude",
        "targets[0].tables",
        "targets[1].policy",
    ]
    assert all(f"target {name!r}" in line for name, line in zip(["dr", "dr", "dr", "lake"], found, strict=True))


@pytest.mark.parametrize(
    "name", ["*", "*.example.com", "a.b:443", "https://a.b", "", "a b", ".a", "a.", "[::1]", "x" * 254]
)
def test_a_name_that_no_proxy_has_is_refused(problems, name):
    (problem,) = problems(SOURCE + f"[web]\nallowed_hosts = ['{name}']\n" + TARGET)
    assert problem.startswith("web.allowed_hosts[0]: ")
    assert 'is not a host name; write "metrics.example.com", without a port and without *' in problem


def test_names_of_a_proxy_are_taken(load):
    names = ("metrics.example.com", "Proxy-1", "10.0.0.7", "my_host")
    assert load(SOURCE + f"[web]\nallowed_hosts = {list(names)}\n" + TARGET).web.allowed_hosts == names


def notify(**more):
    values = {"name": "hook", "url": "https://example.com/hook", "secret_file": "/s"} | more
    return "[[notify]]\n" + "".join(f"{key} = {value!r}\n" for key, value in values.items())


def test_a_receiver_gets_everything_unless_it_is_told(load):
    (receiver,) = load(SOURCE + TARGET + notify()).notify
    assert (receiver.events, receiver.targets, receiver.databases) == (("changes", "problems"), (), ())


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/x", "http://[::1]/", "http://localhost/", "https://h:1/p?q=1"])
def test_a_receiver_is_reached_by_https_or_on_this_machine(load, url):
    assert load(SOURCE + TARGET + notify(url=url)).notify[0].url == url


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/S", "http://10.0.0.1/S", "http://127.0.0.1.example.com/S", "ftp://h/S", "file:///etc/S"),
        *("h/S", "", "https:///S", "https://h:x/S", "https://[S/", "https://h/S T", "https://h/éS"),
        "https://user:S@example.com/",
    ],
)
def test_another_address_of_a_receiver_is_refused_and_not_shown(problems, url):
    (problem,) = problems(SOURCE + TARGET + notify(url=url))
    assert problem.startswith("notify[0].url: ")
    assert "S" not in problem.removeprefix("notify[0].url: ")


def test_receivers_have_names_of_their_own_and_targets_that_are_there(problems):
    more = notify(targets=["dr", "lake"]) + notify(events=["news"])
    assert any(line.startswith("notify[1].events[0]: ") for line in problems(SOURCE + TARGET + more))
    found = problems(SOURCE + TARGET + notify(targets=["dr", "lake"]) + notify())
    assert sorted(found) == [
        "notify: two receivers have the name 'hook'; every receiver needs its own name",
        "notify[0].targets: there is no target 'lake'",
    ]
