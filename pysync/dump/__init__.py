"""Dumps: a metastore written down in a directory, for targets that cannot see the source (docs/dump.md).

From below: `record` (what a file holds) with `replies`, `manifest` (what a dump is), `data` (data files in it),
`safe_files` and `pieces` (files that are finished or are not there), `write`, `index` (what is in a dump) and `read`;
`taken` notes which dump a target has, `root` removes old ones.
"""
