"""The host of a metastore, as a company has it: HMS and Spark under /opt, run by the user hive, and no pysync yet."""

from __future__ import annotations

import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

from tests.readme.cleanroot import CleanRoot

ROOT = Path(__file__).parents[2]
HIVE_HOME = "/opt/hive"
SPARK = "/opt/spark"
WAREHOUSE = "/var/lib/hive/warehouse"
METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
HIVE_SITE = f"""\
<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<!-- The settings of our metastore. Ask the data platform team before you change them. -->
<configuration>
  <property>
    <name>javax.jdo.option.ConnectionURL</name>
    <value>jdbc:derby:;databaseName=/var/lib/hive/derby;create=true</value>
  </property>
  <property><name>hive.metastore.warehouse.dir</name><value>file:{WAREHOUSE}</value></property>
  <property><name>datanucleus.connectionPoolingType</name><value>dbcp</value></property>
  <property><name>datanucleus.schema.autoCreateAll</name><value>true</value></property>
  <property><name>hive.metastore.schema.verification</name><value>false</value></property>
  <property><name>hive.async.log.enabled</name><value>false</value></property>
</configuration>
"""
UNIT = f"""\
[Unit]
Description=Hive Metastore

[Service]
User={{user}}
ExecStart=/usr/bin/java -Xmx512m -Dderby.stream.error.file=/var/lib/hive/derby.log \
-cp {HIVE_HOME}/conf:{HIVE_HOME}/lib/* {METASTORE} -p 9083
"""
CREATE_TABLE = """\
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.sql.catalogImplementation", "hive")
         .config("spark.hadoop.hive.metastore.uris", "thrift://localhost:9083").config("spark.ui.enabled", "false")
         .config("spark.sql.warehouse.dir", "file:/var/lib/hive/warehouse").getOrCreate())
spark.sql("create database sales")
spark.sql("create table sales.orders (id bigint, at date) using parquet partitioned by (at)")
spark.sql("insert into sales.orders values (1, date'2026-01-01')")
"""


def furnish(machine: CleanRoot, user: str) -> None:
    """Install HMS, Spark, their user, and what stands for systemd. The jars are those of pyspark, as links."""
    if user != "root":
        machine.run(["useradd", "--create-home", user])
    spark = machine.inside(SPARK)
    for package in ("pyspark", "py4j"):
        source = Path(str(distribution(package).locate_file(package)))
        shutil.copytree(source, spark / package, copy_function=link_or_copy)
    shutil.copytree(spark / "pyspark" / "jars", machine.inside(f"{HIVE_HOME}/lib"), copy_function=link_or_copy)
    write(machine, f"{HIVE_HOME}/conf/hive-site.xml", HIVE_SITE)
    write(machine, "/etc/systemd/system/hive-metastore.service", UNIT.format(user=user))
    write(machine, "/usr/bin/systemctl", (Path(__file__).parent / "systemctl.py").read_text(), mode=0o755)
    write(machine, f"{SPARK}/create_table.py", CREATE_TABLE)
    machine.run(["install", "-d", "-o", user, "-g", user, "/var/lib/hive", WAREHOUSE])


def copy_checkout(target: Path) -> None:
    """The files of this checkout, those that git knows or would take, without what was built."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def link_or_copy(source: str, target: str) -> None:
    """A hard link where both are on one disk: Spark is 400 MB."""
    try:
        Path(target).hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


def write(machine: CleanRoot, name: str, text: str, mode: int = 0o644) -> None:
    """A file of root's."""
    file = machine.inside(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
