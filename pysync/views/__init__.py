"""Views of Hive with the same rows in Trino and Athena. Pure; needs sqlglot (extra `aws`).

Whatever is not known to mean the same is refused, with the reason: a wrong answer is worse than none.

- `translation`: a view in Trino's SQL, in the form in which Athena keeps it.
- `queries`, `laterals` and `expressions` go through the tree that `text` checks and `plain_trees` makes plain; `scopes`
  and `constant_columns` say what a name means.
- `functions` (`conditions`, `collections`, `numbers`, `written_numbers`, `strings`, `letters`, `patterns`,
  `delimiters`, `json_values`, `urls`, `moments`, `months`), `aggregates` (`percentiles`, `spreads`), `windows`
  (`sliding`), `arithmetic` and `casts` have the rules of what functions and operators do; `types` and
  `typed_expressions` are what these are about.
- `spark`: what a view of Spark means by its text; `versions`: what versions of Hive do differently (`date_strings`,
  `time_strings`); `zones`: what depends on the time zone of a session (`time_patterns`, `known_times`).
"""
