"""Views of Hive: their names at another place, and their rows in Trino and Athena. Pure; needs sqlglot (extra `aws`).

Whatever is not known to mean the same is refused, with the reason: a wrong answer is worse than none.

- `translation`: a view in Trino's SQL, in the form in which Athena keeps it; the text of a view with other names.
- `sources` and `expressions` go through the tree that `text` reads, `scopes` says what a name means, `aggregates`,
  `functions`, `strings`, `moments`, `arithmetic` and `casts` have the rules of what functions and operators do.
- `spark`: what a view of Spark means by its text; `versions`: what versions of Hive do differently.
"""
