package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Database;

/** Stub: Hive 2.3 has no such event. */
public abstract class AlterDatabaseEvent extends ListenerEvent {
    private AlterDatabaseEvent() {
        super(false, null);
    }

    public native Database getOldDatabase();

    public native Database getNewDatabase();
}
