package org.apache.hadoop.hive.metastore.api;

/** Stub. */
public class Function {}
