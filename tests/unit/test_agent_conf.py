"""From the Glue sync agent's hive-site.xml to a pysync.toml that can be loaded, without its secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.hive_site import to_xml
from pysync.setup.agent import LISTENER, Agent
from pysync.setup.agent_config import agent_config, read_agent

STAGING = {"glue.catalog.athena.s3.staging.dir": "s3://bucket/staging/"}
SOURCE = {"source": {"name": "onprem"}}
AGENT = {"hive.metastore.event.listeners": LISTENER, **STAGING}


@pytest.fixture
def imported(tmp_path):
    def build(properties):
        site, conf = tmp_path / "hive-site.xml", tmp_path / "pysync.toml"
        site.write_text(to_xml(properties), encoding="utf-8")
        text = agent_config(read_agent(site), site.name, SOURCE)
        assert max(map(len, text.splitlines())) <= 125 or "\\" in text or "NOT taken" in words(text)
        conf.write_text(text, encoding="utf-8")
        return text, load_config(conf)

    return build


def words(text):
    """The comments as one line: where they are broken does not matter."""
    return " ".join(text.replace("\n#  ", " ").split())


def test_its_defaults_are_those_of_its_code(imported):
    """Its README says that dropTableIfExists is on; its code has it off."""
    _, config = imported(AGENT)
    (target,) = config.targets
    assert config.source.name == "onprem"
    assert (target.kind, target.region, target.staging) == ("athena", "us-east-1", "s3://bucket/staging/")
    assert (target.drops, target.on_conflict, target.create_missing_databases) == ("apply", "park", True)


@pytest.mark.parametrize(
    ("uris", "wanted"),
    [
        ("thrift://a:9083, thrift://b,thrift://a:9083", "thrift://a:9083,thrift://b:9083"),
        ("thrift://a:9083,,zookeeper", "thrift://a:9083"),
        ("zk1:2181,zk2:2181", ""),
        ("", ""),
    ],
)
def test_all_addresses_of_the_metastore_are_known(uris, wanted):
    assert Agent({**AGENT, "hive.metastore.uris": uris}).metastore == wanted


@pytest.mark.parametrize(
    ("key", "value", "setting", "wanted"),
    [
        ("glue.catalog.athena.suppressAllDropEvents", "true", "drops", "suppress"),
        ("glue.catalog.athena.suppressAllDropEvents", "FALSE", "drops", "apply"),
        ("glue.catalog.dropTableIfExists", "True", "on_conflict", "adopt"),
        ("glue.catalog.createMissingDB", "false", "create_missing_databases", False),
        ("glue.catalog.athena.s3.staging.dir", "s3a://other/x", "staging", "s3://other/x"),
        ("glue.catalog.athena.jdbc.url", "jdbc:awsathena://athena.eu-west-1.amazonaws.com:443", "region", "eu-west-1"),
        ("glue.catalog.athena.jdbc.url", "jdbc:awsathena://athena.cn-north-1.amazonaws.com.cn", "region", "cn-north-1"),
        ("glue.catalog.athena.jdbc.url", "jdbc:awsathena://AwsRegion=eu-north-1;Workgroup=etl", "region", "eu-north-1"),
        ("glue.catalog.athena.jdbc.url", "jdbc:awsathena://AwsRegion=eu-north-1;Workgroup=etl", "work_group", "etl"),
        ("glue.catalog.athena.jdbc.url", "jdbc:awsathena://AwsRegion=eu-north-1;Catalog=lake2", "catalog", "lake2"),
        ("glue.catalog.athena.jdbc.url", "jdbc:athena://Region=eu-north-1;WorkGroup=etl", "region", "eu-north-1"),
        ("glue.catalog.athena.jdbc.url",
         "jdbc:awsathena://vpce-0a1-x2.athena.eu-west-3.vpce.amazonaws.com:443;WorkGroup=etl", "region", "eu-west-3"),
        ("glue.catalog.athena.suppressAllDropEvents", "${off}", "drops", "suppress"),
        ("glue.catalog.athena.suppressAllDropEvents", "yes", "drops", "suppress"),
        ("glue.catalog.createMissingDB", "yes", "create_missing_databases", True),
    ],
)  # fmt: skip
def test_each_key(imported, key, value, setting, wanted):
    _, config = imported({**AGENT, key: value})
    assert getattr(config.targets[0], setting) == wanted


def test_the_second_generation_calls_glue(imported):
    _, config = imported({"glue.catalog.region": "eu-west-2", "glue.catalog.id": "123456789012"})
    (target,) = config.targets
    assert (target.kind, target.region, target.catalog_id) == ("glue", "eu-west-2", "123456789012")


SECOND = {"hive.metastore.event.listeners": LISTENER, "glue.catalog.id": "123456789012"}


@pytest.mark.parametrize("extra", [{}, {"glue.catalog.dropTableIfExists": "true"}, {"glue.catalog.id": "123456789012"}])
def test_the_second_generation_needs_neither_region_nor_id(imported, extra):
    """The first one does not start without a staging directory. Both write to us-east-1 where nobody says otherwise."""
    text, config = imported({"hive.metastore.event.listeners": LISTENER, **extra})
    assert (config.targets[0].kind, config.targets[0].region) == ("glue", "us-east-1")
    assert "the agent has no region" in words(text)


@pytest.mark.parametrize(
    ("properties", "drops", "is_odd"),
    [
        ({**SECOND, "glue.catalog.suppressAllDropEvents": "true"}, "suppress", False),
        ({**SECOND, "glue.catalog.suppressAllDropEvents": "false"}, "apply", False),
        ({**SECOND, "glue.catalog.suppressAllDropEvents": "TRUE "}, "suppress", False),
        ({**SECOND, "glue.catalog.suppressAllDropEvents": "1"}, "suppress", True),
        ({**SECOND, "glue.catalog.athena.suppressAllDropEvents": "true"}, "suppress", True),
        ({**AGENT, "glue.catalog.athena.suppressAllDropEvents": "true"}, "suppress", False),
        ({**AGENT, "glue.catalog.suppressAllDropEvents": "true"}, "suppress", False),
    ],
)
def test_no_import_switches_deletes_on(imported, properties, drops, is_odd):
    text, config = imported(properties)
    assert config.targets[0].drops == drops
    assert ("may not have followed" in words(text)) is is_odd


@given(st.text(alphabet="aeflrstuTRUEFALS \t", max_size=8), st.sampled_from(["glue.catalog.", "glue.catalog.athena."]))
def test_only_a_plain_false_applies_drops(value, prefix):
    agent = Agent({f"{prefix}suppressAllDropEvents": value})
    assert agent.suppresses_drops is (value.strip().lower() != "false")


def test_keys_of_both_generations_are_read_as_the_second_and_told(imported):
    text, config = imported({**AGENT, **SECOND})
    assert config.targets[0].kind == "glue"
    assert "keys of both generations" in words(text)


def test_the_third_driver_names_its_output_location(imported):
    url = "jdbc:athena://Region=eu-west-1;OutputLocation=s3://bucket/out/;RowsToFetchPerBlock=5"
    text, config = imported({"glue.catalog.athena.jdbc.url": url})
    assert (config.targets[0].staging, config.targets[0].work_group) == ("s3://bucket/out/", None)
    assert "WARNING: settings of the JDBC address that are NOT taken over: RowsToFetchPerBlock" in words(text)


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("jdbc:awsathena://athena.eu-west-1.amazonaws.com:443;Workgroup=a", ""),
        (
            "jdbc:awsathena://vpce-1-a.athena.eu-west-1.vpce.amazonaws.com:443;Workgroup=a",
            "https://vpce-1-a.athena.eu-west-1.vpce.amazonaws.com:443",
        ),
        ("jdbc:athena://Region=eu-west-1;AthenaEndpoint=https://a.example", "https://a.example"),
        ("jdbc:athena://Region=eu-west-1;AthenaEndpoint=a.example:443", "https://a.example:443"),
        ("jdbc:awsathena://AwsRegion=eu-west-1;EndpointOverride=https://a.example", "https://a.example"),
    ],
)
def test_an_endpoint_of_its_own_is_athenas_alone(imported, url, endpoint):
    text, config = imported({**AGENT, "glue.catalog.athena.jdbc.url": url})
    (found,) = config.targets
    assert found.region == "eu-west-1"
    assert (found.endpoint_of("athena"), found.endpoint_of("glue")) == (endpoint or None, None)
    assert ("glue_endpoint_url" in words(text)) is bool(endpoint)


def test_keys_that_nobody_knows_are_named(imported):
    text, _ = imported({**AGENT, "glue.catalog.newThing": "7", "glue.catalog.x\ny = [": "8", "hive.other": "9"})
    assert 'NOT taken over: glue.catalog.newThing, "glue.catalog.x\\ny = ["' in words(text)
    assert "hive.other" not in words(text)


@pytest.mark.parametrize("key", ["retry.initialBackoffMs", "queue.capacity", "metrics.enabled"])
def test_how_the_second_generation_works_is_not_needed(imported, key):
    text, _ = imported({**SECOND, f"glue.catalog.{key}": "5"})
    assert f"No longer needed: glue.catalog.{key}." in words(text)
    assert "does not know" not in words(text)


def test_variables_are_those_of_the_file(imported):
    staging = {"glue.catalog.athena.s3.staging.dir": "${place}/x/", "place": "s3a://${bucket}", "bucket": "b1"}
    _, config = imported({**AGENT, **staging})
    assert config.targets[0].staging == "s3://b1/x/"


def test_a_variable_never_brings_a_credential(imported):
    text, _ = imported({**SECOND, "glue.catalog.region": "${fs.s3a.secret.key}", "fs.s3a.secret.key": "wJalrX"})
    assert "wJalrX" not in words(text)


@pytest.mark.parametrize("depth", [1, 50])
def test_variables_that_go_in_circles_end(depth):
    circle = {f"v{it}": f"${{v{(it + 1) % depth}}}" for it in range(depth)}
    assert Agent({**circle, "glue.catalog.region": "${v0}"}).get("glue.catalog.region").startswith("${v")


def test_variables_that_multiply_one_another_stay_small():
    text = {f"v{it}": f"${{v{it + 1}}}" * 10 for it in range(18)}
    assert len(Agent({**text, "v18": "x"}).get("v0")) < 2_000


def test_the_tables_are_those_that_each_generation_takes(imported):
    _, config = imported(AGENT)
    (target,) = config.targets
    assert (target.include_schemes, target.include_types) == (("s3", "s3a", "s3n"), ("EXTERNAL_TABLE",))
    assert target.exclude_parameters == ()
    _, config = imported(SECOND)
    (target,) = config.targets
    assert (target.include_schemes, target.include_types) == (
        ("s3", "s3a", "s3n"),
        ("EXTERNAL_TABLE", "MANAGED_TABLE"),
    )
    assert target.exclude_parameters == ("storage_handler", "table.system.ownership=gdc")


def test_without_a_staging_location_it_says_so(imported):
    text, config = imported({"glue.catalog.athena.jdbc.url": "jdbc:awsathena://AwsRegion=eu-north-1"})
    assert (config.targets[0].staging, config.targets[0].work_group) == (None, "primary")
    assert "no staging location: set staging" in words(text)


SECRET = st.text(alphabet="ABCDEFGHKLMabcdefghk0123456789/+", min_size=16, max_size=40)


@given(SECRET, SECRET)
def test_no_secret_is_printed(tmp_path_factory, key, secret):
    site = tmp_path_factory.mktemp("x") / "hive-site.xml"
    url = (
        f"jdbc:awsathena://athena.eu-west-1.amazonaws.com:443;UID={key};PWD={secret};Workgroup=etl;aws_secret={secret}"
    )
    site.write_text(
        to_xml({**AGENT, "glue.catalog.user.key": key, "glue.catalog.user.secret": secret,
                "glue.catalog.athena.jdbc.url": url}), encoding="utf-8",
    )  # fmt: skip
    text = words(agent_config(read_agent(site), site.name, SOURCE))
    assert key not in words(text)
    assert secret not in words(text)
    assert "They are not copied" in words(text)


def test_nor_is_one_in_what_is_read_of_the_address():
    url = "jdbc:awsathena://AwsRegion=x-1;UID=a;pwd=b;User=c;AwsSecretKey=d;SessionToken=e;Workgroup=etl"
    assert Agent({"glue.catalog.athena.jdbc.url": url}).address == {"region": "x-1", "workgroup": "etl"}
    assert Agent({"glue.catalog.athena.jdbc.url": url}).unread_of_address == []


@pytest.mark.parametrize(
    ("extra", "output"),
    [
        ({"glue.catalog.user.key": "AKIA"}, "The configuration of the agent holds credentials"),
        ({"glue.catalog.athena.jdbc.url": "jdbc:awsathena://AwsRegion=x-1;UID=a;PWD=b"}, "holds credentials"),
        ({"no-event-sleep-duration": "5"}, "No longer needed: no-event-sleep-duration."),
        ({"glue.catalog.athena.s3.staging.dir": "${staging}"}, "refers to ${another} property"),
        ({"glue.catalog.dropTableIfExists": "true"}, '"adopt" alters them'),
        ({}, 'parked until on_conflict is "adopt"'),
        ({}, "code has false (a README of it says true)"),
    ],
)
def test_what_is_different_is_said(imported, extra, output):
    text, _ = imported({**AGENT, **extra})
    assert output in words(text)
    assert LISTENER in words(text), "which is to be taken out"


def test_what_needs_no_word_gets_none(imported):
    text, _ = imported(AGENT)
    assert "Credentials" not in words(text)
    assert "No longer needed" not in words(text)
    assert "refers to" not in words(text)


def test_values_are_strings_of_toml_whatever_is_in_them(imported):
    nasty = 's3://bucket/"quoted"\\back#é😀'
    _, config = imported({**AGENT, "glue.catalog.athena.s3.staging.dir": nasty})
    assert config.targets[0].staging == nasty


def test_refusals(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        read_agent(tmp_path / "absent.xml")
    broken = tmp_path / "broken.xml"
    broken.write_text("<configuration>")
    with pytest.raises(UsageError, match="is not XML"):
        read_agent(broken)
    other = tmp_path / "other.xml"
    other.write_text(to_xml({"hive.metastore.uris": "thrift://x:9083"}))
    with pytest.raises(UsageError, match="does not configure the Glue sync agent"):
        read_agent(other)


def test_a_note_is_wrapped_below_its_text(imported):
    text, _ = imported({**AGENT, **SECOND, "glue.catalog.athena.jdbc.url": "jdbc:athena://AthenaEndpoint=a.example"})
    notes = text.partition("\n\n")[0].splitlines()[2:]
    assert {it[:4] for it in notes} == {"# - ", "#   "}
    assert not any(it[4:].startswith((" ", "- ")) for it in notes)
