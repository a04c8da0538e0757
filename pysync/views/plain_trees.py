"""The tree of a SELECT without what Trino has no form of its own for: other nodes that mean the same take its place."""

from __future__ import annotations

from sqlglot import exp

from pysync.views.expressions import GROUPING_ID
from pysync.views.laterals import TABLE_FUNCTIONS

_ROWS, _KEYS = "_rows", "_keys"
_SEVERAL = ("rollup", "cube", "grouping_sets")
_BEHIND_ROWS = ("group", "having", "order")
"""The clauses that look at the rows which FROM and WHERE give."""


def make_plain(node: exp.Select) -> None:
    """Change the tree of a SELECT, not those of the queries within it."""
    _make_lateral_view(node)
    _make_columns_of_keys(node)
    _make_grouping_id(node)


def _make_lateral_view(node: exp.Select) -> None:
    """`SELECT explode(…) AS x` becomes a lateral view of the same."""
    only = node.expressions[0] if len(node.expressions) == 1 else None
    function = only.this if isinstance(only, exp.Alias | exp.Aliases) else None
    if only is None or not isinstance(function, exp.Anonymous) or function.name.lower() not in TABLE_FUNCTIONS:
        return
    names = [it.name for it in (only.expressions or [only.args["alias"]])]
    node.append("laterals", _lateral_view(function, _ROWS, names))
    node.set("expressions", [exp.column(exp.to_identifier(it), table=_ROWS) for it in names])


def _lateral_view(function: exp.Anonymous, name: str, columns: list[str]) -> exp.Lateral:
    alias = exp.TableAlias(this=exp.to_identifier(name), columns=list(map(exp.to_identifier, columns)))
    return exp.Lateral(this=function, view=True, alias=alias)


def _make_columns_of_keys(node: exp.Select) -> None:
    """What rows are grouped by in several ways becomes columns of a lateral view: Trino takes nothing else."""
    keys = [it.copy() for it in _keys_of_several(node) if not isinstance(it, exp.Column | exp.Literal)]
    keys = [it for place, it in enumerate(keys) if it not in keys[:place]]
    if not keys:
        return
    for place, item in enumerate(node.expressions):
        if item in keys:  # it keeps the name that Hive gives it
            item.replace(exp.alias_(item.copy(), f"_c{place}"))
    parts = [*node.expressions, *filter(None, (node.args.get(it) for it in _BEHIND_ROWS))]
    of_node = [it for part in parts for it in part.walk() if it in keys and it.find_ancestor(exp.Select) is node]
    for it, name in [(it, f"_k{keys.index(it)}") for it in of_node]:
        it.replace(exp.column(exp.to_identifier(name), table=_KEYS))
    fields = [it for place, key in enumerate(keys) for it in (exp.Literal.string(f"_k{place}"), key)]
    struct = exp.Anonymous(this="named_struct", expressions=fields)
    rows = exp.Anonymous(this="inline", expressions=[exp.Anonymous(this="array", expressions=[struct])])
    node.append("laterals", _lateral_view(rows, _KEYS, [f"_k{place}" for place in range(len(keys))]))


def _keys_of_several(node: exp.Select) -> list[exp.Expression]:
    """What rows are grouped by in several ways; nothing if they are in one."""
    group = node.args.get("group")
    several = [it for kind in _SEVERAL for it in (group.args.get(kind) or ())] if group is not None else []
    return (group.expressions or several[0].expressions) if several else []


def _make_grouping_id(node: exp.Select) -> None:
    """The column GROUPING__ID becomes a function of the columns that the rows are grouped by in several ways."""
    keys = _keys_of_several(node)
    if not keys:
        return
    for name in list(node.find_all(exp.Column)):
        if len(name.parts) == 1 and name.name.lower() == GROUPING_ID and name.find_ancestor(exp.Select) is node:
            function = exp.Anonymous(this=GROUPING_ID, expressions=[it.copy() for it in keys])
            name.replace(exp.alias_(function, GROUPING_ID) if name.parent is node else function)
