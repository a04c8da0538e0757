"""Connections to Hive Metastores (HMS): the only place in pysync that opens one.

From below: `errors`, `settings` (addresses, and what pysync.toml says of TLS and logins), `login` (bytes, and logins on
top of them), `access` (all settings as one value), `wire` (a connection), `client` (the calls).
"""
