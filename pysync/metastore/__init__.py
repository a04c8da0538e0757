"""Connections to Hive Metastores (HMS): the only place in pysync that opens one.

From below: `errors`, `addresses`, `settings` (what pysync.toml says of TLS and logins), `channel` (bytes both ways),
`tls`, `http`, `sasl` with `kerberos` and `secret_logins`, `access` (all settings as one value), `expiry`, `wire` (a
connection), `client` (the calls), `reads` (those that a dump answers, too), `statistics`.
"""
