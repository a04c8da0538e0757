"""The scope of a dump, as its manifest tells it: which objects it takes, and whether two scopes are the same."""

from __future__ import annotations

from collections.abc import Sequence

from pysync.dump.manifest import Within
from pysync.replay.policy import Policy
from pysync.resync.refreshes import Scope
from pysync.targets.settings import TargetSettings


def scope_of(within: Sequence[Within]) -> Scope:
    """The databases and tables that any of these takes. Raises UsageError for a policy that cannot be read."""
    policies = list(map(policy_of, within))
    return Scope(
        database=lambda name: any(policy.takes_database(name) for policy in policies),
        table=lambda name: any(policy.takes_table(name) for policy in policies),
        definition=lambda name, table: any(
            policy.takes_table(name) and policy.traits.rule_against(table) is None for policy in policies
        ),
    )


def policy_of(within: Within) -> Policy:
    """The policy of a target that takes this. Raises UsageError for one that cannot be read."""
    return Policy.of(TargetSettings(name="dump", kind="dump", **within.model_dump()))


def looks_at_definitions(within: Sequence[Within]) -> bool:
    """Whether names alone do not tell what is taken."""
    return any(it.include_types or it.exclude_parameters for it in within)


def are_same(one: Sequence[Within], other: Sequence[Within]) -> bool:
    """Whether two scopes take the same, though their texts may differ in form."""
    return set(map(_key, one)) == set(map(_key, other))


def _key(within: Within) -> tuple[object, ...]:
    policy = policy_of(within)
    traits = frozenset(within.include_types), frozenset(within.exclude_parameters)
    return frozenset(policy.include), frozenset(policy.exclude), *traits
