package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Database;

/** Stub. */
public abstract class CreateDatabaseEvent extends ListenerEvent {
    public native Database getDatabase();
}
