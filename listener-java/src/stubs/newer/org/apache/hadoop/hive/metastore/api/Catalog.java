package org.apache.hadoop.hive.metastore.api;

/** Stub: Hive 2.3 has no catalogs. */
public class Catalog {}
