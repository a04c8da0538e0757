"""`make compare-agents`: the same DDL, a kill and some throttling for AWS's two Hive-to-Glue agents and for pysync."""
