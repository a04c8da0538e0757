"""The tree of a view, if the rules of translation look at all that it says."""

from __future__ import annotations

from sqlglot import exp

from pysync.hiveql.refusal import CannotTranslate
from pysync.hiveql.text import parsed

_PLAIN = frozenset({"this", "expression"})
_MARKS = {
    kind: frozenset(names.split())
    for kind, names in {
        exp.Alias: "this alias",
        exp.Anonymous: "this expressions",
        exp.Between: "this low high",
        exp.Boolean: "this",
        exp.Bracket: "this expressions",
        exp.Case: "this ifs default",
        exp.Cast: "this to",
        exp.Column: "this table db catalog",
        exp.CTE: "this alias",
        exp.Cube: "expressions",
        exp.Distinct: "expressions on",
        exp.Div: "this expression safe",  # rules of its own decide what it gives
        exp.DPipe: "this expression safe",
        exp.Exists: "this",
        exp.Extract: "this expression",
        exp.Filter: "this expression",
        exp.From: "this",
        exp.Group: "expressions rollup cube grouping_sets totals all",
        exp.GroupingSets: "expressions",
        exp.Having: "this",
        exp.If: "this true false",
        exp.In: "this expressions query",
        exp.Interval: "this unit",
        exp.Join: "this on side kind using method global_",
        exp.Lateral: "this view alias outer",
        exp.Like: "this expression negate",
        exp.Limit: "expression",
        exp.Literal: "this is_string",
        exp.Neg: "this",
        exp.Not: "this",
        exp.Order: "expressions",
        exp.Ordered: "this desc nulls_first",
        exp.Paren: "this",
        exp.RegexpLike: "this expression negate",
        exp.Rollup: "expressions",
        exp.Star: "",
        exp.Subquery: "this alias",
        exp.Table: "this db catalog alias joins laterals sample pivots",
        exp.TableAlias: "this columns",
        exp.Trim: "this position",
        exp.TryCast: "this to",
        exp.Tuple: "expressions",
        exp.Where: "this",
        exp.Window: "this partition_by order spec alias over",
        exp.WindowSpec: "kind start start_side end end_side",
        exp.With: "expressions recursive",
    }.items()
}


def understood(text: str, *, puts_nulls_last: bool = False) -> exp.Query:
    """The query as `parsed` reads it, if each node of the tree says only what the rules look at.

    Raises CannotTranslate.

    A parser may put a word into the tree as a mark on a node; a mark that nobody looks at would be lost in silence.
    """
    tree = parsed(text, puts_nulls_last=puts_nulls_last)
    for node in tree.walk():
        known = _MARKS.get(type(node), _PLAIN if isinstance(node, exp.Binary) else None)
        others = [] if known is None else [name for name, value in node.args.items() if value and name not in known]
        if others:
            raise CannotTranslate(f"{node.key.upper()} with {others[0].upper()}")
    return tree
