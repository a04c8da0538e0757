"""Views of Hive: their names at another place, and their rows in Trino and Athena. Pure; needs sqlglot (extra `aws`).

Whatever is not known to mean the same is refused, with the reason: a wrong answer is worse than none.

- `translation`: a view in Trino's SQL. `queries`, `sources` and `expressions` go through the tree, `scopes` says what a
  name means, `casts`, `operators` and `functions` have the rules of types and of what Hive's operators do.
- `presto`: the form in which Athena keeps a view.
- `renaming`: the text of a view with other names of tables.
"""
