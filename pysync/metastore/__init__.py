"""Connections to Hive Metastores (HMS): the only place in pysync that opens one.

From below: `addresses` (which), `settings` (what pysync.toml says), `channel` (bytes), `tls`, `kerberos`, `plain`,
`sasl` and `http` (on top of those), `access` (all of it as one value), `wire` (a connection), `client` (the calls).
"""
