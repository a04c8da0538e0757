"""What the demo does at the source: the SQL that Spark runs, in acts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoAct:
    """Some statements, and what happens to the sidecar before them."""

    title: str
    sidecar: str  # "runs", "is killed", or "starts again"
    statements: tuple[str, ...]


ACTS = (
    DemoAct(
        "databases, tables, views",
        "runs",
        (
            "CREATE DATABASE shop COMMENT 'what the demo sells' WITH DBPROPERTIES ('team' = 'sales')",
            "CREATE DATABASE lab",
            "CREATE TABLE shop.items (id INT COMMENT 'key', name STRING, price DECIMAL(10,2)) STORED AS PARQUET",
            "CREATE TABLE shop.orders (id BIGINT, item INT, amount INT) "
            "PARTITIONED BY (day STRING, region STRING) STORED AS ORC",
            "CREATE TABLE lab.raw (line STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE",
            "CREATE TABLE lab.events (id INT, what STRING) USING parquet PARTITIONED BY (what)",
            "CREATE VIEW shop.cheap AS SELECT id, name FROM shop.items WHERE price < 10",
        ),
    ),
    DemoAct(
        "inserts and partitions",
        "runs",
        (
            "INSERT INTO shop.items VALUES (1, 'pen', 2.50), (2, 'lamp', 30.00)",
            "INSERT INTO shop.orders PARTITION (day, region) VALUES "
            "(1, 1, 10, '2026-01-01', 'north'), (2, 2, 1, '2026-01-01', 'south'), (3, 1, 5, '2026-01-02', 'north')",
            "ALTER TABLE shop.orders ADD PARTITION (day='2026-01-03', region='a/b=c %') "
            "PARTITION (day='2026-01-03', region='Zürich')",
            "INSERT INTO lab.events VALUES (1, 'start'), (2, 'stop')",
        ),
    ),
    DemoAct(
        "changes while the sidecar is down",
        "is killed",
        (
            "ALTER TABLE shop.items ADD COLUMNS (colour STRING COMMENT 'added later')",
            "ALTER TABLE shop.items SET TBLPROPERTIES ('owner.team' = 'sales', 'note' = 'it''s \"quoted\"')",
            "ALTER TABLE lab.raw RENAME TO lab.lines",
            "ALTER TABLE shop.orders PARTITION (day='2026-01-02', region='north') "
            "RENAME TO PARTITION (day='2026-01-02', region='west')",
            "ALTER TABLE shop.orders DROP PARTITION (day='2026-01-01', region='south')",
            "INSERT INTO shop.orders PARTITION (day='2026-01-04', region='east') VALUES (9, 2, 3)",
        ),
    ),
    DemoAct(
        "changes after the restart",
        "starts again",
        (
            "CREATE TABLE lab.short_lived (x INT)",
            "DROP TABLE lab.short_lived",
            "CREATE TABLE lab.again (x INT) STORED AS PARQUET",
            "DROP TABLE lab.again",
            "CREATE TABLE lab.again (x INT, y ARRAY<STRUCT<a: INT, b: MAP<STRING, DATE>>>) STORED AS PARQUET",
            "CREATE DATABASE doomed",
            "CREATE TABLE doomed.one (x INT)",
            "DROP DATABASE doomed CASCADE",
            "CREATE FUNCTION shop.magnitude AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFAbs'",
            "ALTER VIEW shop.cheap AS SELECT id, name, colour FROM shop.items WHERE price < 5",
            "COMMENT ON TABLE shop.items IS 'all that is for sale'",
        ),
    ),
)
