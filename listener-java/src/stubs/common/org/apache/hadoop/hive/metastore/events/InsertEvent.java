package org.apache.hadoop.hive.metastore.events;

/** Stub. */
public abstract class InsertEvent extends ListenerEvent {}
