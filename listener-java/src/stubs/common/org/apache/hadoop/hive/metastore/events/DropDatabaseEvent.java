package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Database;

/** Stub. */
public abstract class DropDatabaseEvent extends ListenerEvent {
    public native Database getDatabase();
}
