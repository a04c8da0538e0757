"""Glue, Athena and S3 at one address on this machine, for the demo, the tests and trying a configuration out.

    with EmbeddedAws(athena=False) as aws:          # 1 or 2 s, no Java; athena=True runs DDL on a real Hive
        glue = aws.client("glue")                   # boto3, one attempt a request
        os.environ.update(aws.environment())        # or: address, region and credentials for whatever uses boto3
        aws.fault("Glue.UpdateTable", code="ThrottlingException", count=2)
        aws.fault("Glue.BatchCreatePartition", code="InternalServiceException", items=[0, 2])
        aws.fault("Glue.CreateTable", after=True)   # carried out, then the connection breaks
        aws.calls()                                 # {"Glue.CreateTable": 1, ...} since reset_calls()

        aws.fault("Athena.exec", reason="Rate exceeded", category=1, type=1401, retryable=True, delay_seconds=0.5)
        aws.statements()                            # {"ALTER TABLE ADD PARTITION": 2, ...}

Glue's objects are kept by moto. In front of it stands what moto leaves out: the limits of the service's own model,
names in lower case, versions, pages, segments, errors of single items, user-defined functions.
Athena's statements run in a real Hive 2.3, whose metastore mirrors Glue: what they change is written back to Glue.

It is no proof of what AWS does. Known to be missing or unknown:
- Glue: column types, duplicate columns and the types of partition values are not looked at (Glue takes the first two);
  partition indexes, column statistics and permissions are not there.
- Athena: queries, CREATE TABLE AS, Iceberg, MSCK REPAIR and skewed tables are refused. The columns of a view stay
  unknown, as nothing here reads Trino's SQL. A syntax error is always a statement that FAILED; Athena may refuse it at
  once. The types of its errors follow its manual, their texts are Hive's or our own.
- Nothing checks that a bucket exists, or that a location has files.
"""

from pysync.lab.aws.server import EmbeddedAws

__all__ = ["EmbeddedAws"]
