"""Rights: what is asked of IAM, and what is made of its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.aws import rights
from pysync.targets.aws.clients import provide
from pysync.targets.aws.rights import by_the_api, of_logs, simulated
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.base import ChecksRights, Forbidden
from pysync.targets.glue import GlueSettings
from tests.support.glue import Bench, answered

POLICY = json.loads((Path(__file__).parents[2] / "conf" / "iam-policy.json").read_text())
ROLE = "arn:aws:sts::123456789012:assumed-role/etl/session"


class Iam:
    """Allows what `allows` says of a call and a resource."""

    def __init__(self, allows: Callable[[str, str], bool]) -> None:
        self.allows, self.asked, self.fails = allows, list[dict[str, Any]](), dict[str, Exception]()

    def get_role(self, RoleName: str) -> Any:  # noqa: N803
        if "get_role" in self.fails:
            raise self.fails["get_role"]
        return {"Role": {"Arn": f"arn:aws:iam::123456789012:role/path/{RoleName}"}}

    def simulate_principal_policy(self, Marker: str = "0", **asked: Any) -> Any:  # noqa: N803
        if "simulate" in self.fails:
            raise self.fails["simulate"]
        self.asked.append(asked)
        pairs = [(call, arn) for call in asked["ActionNames"] for arn in asked["ResourceArns"]]
        at = int(Marker)
        results = [
            {"EvalActionName": call, "EvalResourceName": arn, "EvalDecision": self._said(call, arn)}
            for call, arn in pairs[at : at + 3]
        ]
        return {"EvaluationResults": results, "IsTruncated": at + 3 < len(pairs), "Marker": str(at + 3)}

    def _said(self, call: str, arn: str) -> str:
        return "allowed" if self.allows(call, arn) else "implicitDeny"


class World:
    def __init__(self, allows: Callable[[str, str], bool] = lambda *_: True, arn: str = ROLE, **values: Any) -> None:
        self.iam = Iam(allows)
        self.settings: AwsSettings = GlueSettings(name="lake", kind="glue", region="eu-west-1", **values)
        sts = SimpleNamespace(get_caller_identity=lambda: {"Arn": arn})
        glue = SimpleNamespace(meta=SimpleNamespace(region_name="eu-west-1"))
        provide(self.settings, iam=self.iam, sts=sts, glue=glue)

    def asks(self, *there: str) -> str:
        return simulated(self.settings, (*by_the_api(self.settings), *of_logs(self.settings)), there)

    @property
    def arns(self) -> set[str]:
        return {arn for asked in self.iam.asked for arn in asked["ResourceArns"]}


def actions(mode: str, service: str, *without: str) -> set[str]:
    found = [it for it in POLICY[mode]["Statement"] if it["Sid"] not in without]
    return {action for it in found for action in it["Action"] if action.startswith(f"{service}:")}


def test_the_calls_are_those_of_the_policy() -> None:
    plain = World().settings
    rich = World(
        statistics="columns", partition_indexes={"a.b": [["c"]]}, lf_tags={"a": {"b": "c"}}, log_schemas_every="1h"
    ).settings
    assert set(by_the_api(plain)) == actions("glue", "glue", "ColumnStatistics", "PartitionIndexes")
    assert {*by_the_api(rich), *of_logs(rich)} == {
        action for service in ("glue", "lakeformation", "s3") for action in actions("glue", service)
    }
    assert of_logs(plain) == ()
    assert {*rights.READS, *rights.BY_STATEMENTS} == actions("athena-never", "glue")
    assert set(rights.STATEMENTS) == actions("athena", "athena")


def test_all_are_allowed() -> None:
    world = World()
    assert world.asks("b", "a") == "IAM allows arn:aws:iam::123456789012:role/path/etl all 22 calls"
    place = "arn:aws:glue:eu-west-1:123456789012"
    tables = {f"{place}:{kind}/{name}/pysync" for kind in ("table", "userDefinedFunction") for name in "ab"}
    assert world.arns == {f"{place}:catalog", f"{place}:database/a", f"{place}:database/b", *tables}


def test_what_is_denied_is_named() -> None:
    world = World(lambda call, _: call not in {"glue:UpdateTable", "glue:DeleteTable"})
    with pytest.raises(Forbidden, match="role/path/etl: glue:DeleteTable, glue:UpdateTable;") as caught:
        world.asks("a")
    assert "iam-policy.json" in str(caught.value.hint)


def test_a_right_for_one_of_the_databases_is_enough() -> None:
    """The role may be for some databases only, and nobody says which."""
    assert "allows" in World(lambda _, arn: "catalog" in arn or "/b" in arn).asks("a", "b", "c")


def test_many_are_not_listed() -> None:
    with pytest.raises(Forbidden, match="and 14 more"):
        World(lambda *_: False).asks("a")


@pytest.mark.parametrize(
    ("values", "there", "tried"),
    [
        ({}, (), {"default"}),
        ({}, [f"d{number:02}" for number in range(20)], {f"d{number:02}" for number in range(10)}),
        ({"include": ["Sales.*", "crm*"], "databases": {"sales": "lake_sales"}}, ("x",), {"lake_sales"}),
        ({"policy": "hr.'a.*'"}, ("x",), {"hr"}),
        ({"include": ["s*"]}, ("x",), {"x"}),
        (
            {
                "policies": [
                    {"name": "a", "include": ["a.*"]},
                    {"name": "b", "policy": "b", "databases": {"b": "lake_b"}},
                ]
            },
            ("x",),
            {"a", "lake_b"},
        ),
    ],
)
def test_the_databases_of_the_settings_are_tried_first(values: Any, there: Any, tried: set[str]) -> None:
    world = World(**values)
    world.asks(*there)
    assert {arn.rpartition("/")[2] for arn in world.arns if ":database/" in arn} == tried


@pytest.mark.parametrize(
    ("arn", "values", "caller"),
    [
        ("arn:aws:iam::123456789012:user/etl/ann", {}, "arn:aws:iam::123456789012:user/etl/ann"),
        ("arn:aws-cn:sts::123456789012:assumed-role/etl/s", {}, "arn:aws:iam::123456789012:role/path/etl"),
        (
            ROLE,
            {"assume_role": {"arn": "arn:aws:iam::123456789012:role/a/b/etl"}},
            "arn:aws:iam::123456789012:role/a/b/etl",
        ),
    ],
)
def test_the_caller_is_the_one_whose_policies_count(arn: str, values: Any, caller: str) -> None:
    world = World(arn=arn, **values)
    world.asks("a")
    assert {asked["PolicySourceArn"] for asked in world.iam.asked} == {caller}


def test_the_catalog_may_be_another_accounts() -> None:
    world = World(catalog_id="999999999999")
    world.asks("a")
    assert "arn:aws:glue:eu-west-1:999999999999:catalog" in world.arns


def test_a_role_that_cannot_be_read_has_no_path() -> None:
    world = World()
    world.iam.fails["get_role"] = answered("AccessDenied")
    assert "arn:aws:iam::123456789012:role/etl all" in world.asks("a")


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling", "ServiceFailure", "NoSuchEntity", "InvalidInput"])
def test_where_iam_cannot_be_asked_it_says_so(code: str) -> None:
    world = World()
    world.iam.fails["simulate"] = answered(code)
    assert world.asks("a").startswith("rights not tested: ")


@pytest.mark.parametrize("arn", ["arn:aws:iam::123456789012:root", "arn:aws:sts::123456789012:federated-user/x"])
def test_a_caller_without_policies_of_its_own_is_not_tested(arn: str) -> None:
    assert World(arn=arn).asks("a") == f"rights not tested: {arn} is no user or role"


def test_the_tags_of_lake_formation_are_tested_for_everything() -> None:
    """IAM knows no narrower resource for them."""
    world = World(lambda call, arn: not call.startswith("lakeformation:") or arn != "*", lf_tags={"a": {"b": "c"}})
    with pytest.raises(Forbidden, match="lakeformation:AddLFTagsToResource, lakeformation:GetResourceLFTags;"):
        world.asks("a")
    assert World(lf_tags={"a": {"b": "c"}}).asks("a").endswith("all 24 calls")


LOGS = {"log_schemas_every": "1h", "locations": {"hdfs://nn/wh": "s3a://lake/wh/", "hdfs://nn/old": "s3://old"}}


def test_the_logs_of_tables_are_tested_in_the_buckets_of_the_locations() -> None:
    world = World(**LOGS)
    assert world.asks("a").endswith("all 24 calls")
    assert {arn for arn in world.arns if ":s3:" in arn} == {
        "arn:aws:s3:::lake",
        "arn:aws:s3:::lake/wh/pysync/_delta_log/pysync",
        "arn:aws:s3:::lake/wh/pysync/.hoodie/pysync",
        "arn:aws:s3:::old",
        "arn:aws:s3:::old/pysync/_delta_log/pysync",
        "arn:aws:s3:::old/pysync/.hoodie/pysync",
    }
    with pytest.raises(Forbidden, match="s3:GetObject;"):
        World(lambda call, _: call != "s3:GetObject", **LOGS).asks("a")


def test_rights_for_buckets_that_nobody_names_are_said_to_be_untested() -> None:
    text = World(lambda call, _: not call.startswith("s3:"), log_schemas_every="1h").asks("a")
    assert text.endswith("all 22 calls; not tested, as locations has no bucket: s3:GetObject, s3:ListBucket")


def test_a_target_tells_of_its_rights() -> None:
    bench = Bench()
    target = bench.target()
    provide(target.store.settings, sts=SimpleNamespace(get_caller_identity=lambda: {"Arn": ROLE}), iam=World().iam)
    assert isinstance(target, ChecksRights)
    assert target.check_rights().startswith("IAM allows")


def test_a_work_group_is_a_resource() -> None:
    world = World()
    settings = AthenaSettings(name="lake", kind="athena", work_group="w", region="eu-west-1")
    settings._clients.built.update(world.settings._clients.built)
    simulated(settings, rights.STATEMENTS, ["a"], "w")
    assert world.arns == {"arn:aws:athena:eu-west-1:123456789012:workgroup/w"}
