"""Columns that a condition makes constants: Hive puts the constant in their place, with a type of its own. Pure.

`amount / months` has 13 digits behind the point; where `months = 12` is asked for, Hive 2.3 divides by a 12 of two
digits, and the quotient has six.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from pysync.views.aggregates import AGGREGATES

Fixed = frozenset[tuple[str, str]]
"""Names of columns, each with the constant that it is."""


def fixed_columns(tree: exp.Query) -> frozenset[str]:
    """Names, in lower case, of the columns that some condition of the query fixes, whichever source they are of.

    A column that is equal to a fixed one, or another name for it, is fixed, too; and one that is a constant within.
    """
    names = {name for condition in _conditions(tree) for name, _ in _fixed_by(condition)}
    names |= {it.alias.lower() for it in tree.find_all(exp.Alias) if _is_inner(it) and _is_constant(it.this)}
    pairs = list(_same(tree))
    while added := {it for pair in pairs if names & pair for it in pair} - names:
        names |= added
    return frozenset(names)


def _conditions(tree: exp.Query) -> Iterator[exp.Expression]:
    yield from (it.this for it in tree.find_all(exp.Where, exp.Having))
    yield from (it.args["on"] for it in tree.find_all(exp.Join) if it.args.get("on"))


def _fixed_by(condition: exp.Expression) -> Fixed:
    """What is fixed where the condition holds; of both sides of OR, what both fix alike."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return _fixed_by(condition.this) | _fixed_by(condition.expression)
    if isinstance(condition, exp.Or):
        return _fixed_by(condition.this) & _fixed_by(condition.expression)
    is_negated = isinstance(condition, exp.Not) and isinstance(condition.this.unnest(), exp.NEQ)
    if is_negated or isinstance(condition, exp.EQ | exp.NullSafeEQ):
        condition = condition.this.unnest() if is_negated else condition
        return _fixed_pair(condition.this, condition.expression)
    if isinstance(condition, exp.In) and len(condition.expressions) == 1:
        return _fixed_pair(condition.this, condition.expressions[0])
    if isinstance(condition, exp.Between) and condition.args["low"] == condition.args["high"]:
        return _fixed_pair(condition.this, condition.args["low"])
    return frozenset()


def _is_inner(alias: exp.Alias) -> bool:
    """Whether it is the name of a column that a query round its own can use."""
    return alias.find_ancestor(exp.Subquery, exp.CTE) is not None


def _is_constant(value: exp.Expression) -> bool:
    others = (exp.Column, exp.Query, exp.Star, exp.Window)
    names = (it.name.lower() for it in value.find_all(exp.Anonymous))
    return value.find(*others) is None and not any(it in AGGREGATES for it in names)


def _fixed_pair(one: exp.Expression, other: exp.Expression) -> Fixed:
    sides = one.unnest(), other.unnest()
    return frozenset(
        (column.name.lower(), constant.sql())
        for column, constant in (sides, sides[::-1])
        if isinstance(column, exp.Column) and constant.find(exp.Column, exp.Query) is None
    )


def _same(tree: exp.Query) -> Iterator[frozenset[str]]:
    """Pairs of names that may be of one and the same value."""
    for node in tree.find_all(exp.EQ, exp.NullSafeEQ):
        sides = node.this.unnest(), node.expression.unnest()
        if all(isinstance(it, exp.Column) for it in sides):
            yield frozenset(it.name.lower() for it in sides)
    for node in tree.find_all(exp.Alias):
        if isinstance(node.this, exp.Column):
            yield frozenset((node.this.name.lower(), node.alias.lower()))
    for node in tree.find_all(exp.SetOperation):
        names = ([it.alias_or_name.lower() for it in side.selects] for side in (node.left, node.right))
        yield from map(frozenset, zip(*names, strict=False))
