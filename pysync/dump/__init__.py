"""Dumps: a metastore written down in a directory, for targets that cannot see the source (docs/dump.md).

From below: `record` (what a file holds), `replies` (a metastore's answers as their bytes), `manifest` (what a dump is),
`data` (data files in it), `pieces` (files that are finished or are not there), `write` and `read`.
"""
