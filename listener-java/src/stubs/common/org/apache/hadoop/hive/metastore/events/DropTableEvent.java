package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Table;

/** Stub. */
public abstract class DropTableEvent extends ListenerEvent {
    public native Table getTable();

    public native boolean getDeleteData();
}
