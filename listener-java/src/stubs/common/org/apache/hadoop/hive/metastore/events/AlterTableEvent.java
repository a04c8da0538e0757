package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Table;

/** Stub. */
public abstract class AlterTableEvent extends ListenerEvent {
    public native Table getOldTable();

    public native Table getNewTable();
}
