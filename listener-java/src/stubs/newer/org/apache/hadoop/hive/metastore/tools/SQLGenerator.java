package org.apache.hadoop.hive.metastore.tools;

/** Stub: only Hive 4 has it. */
public class SQLGenerator {
}
