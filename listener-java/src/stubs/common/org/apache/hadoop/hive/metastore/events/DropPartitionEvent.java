package org.apache.hadoop.hive.metastore.events;

import java.util.Iterator;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;

/** Stub. */
public abstract class DropPartitionEvent extends ListenerEvent {
    public native Table getTable();

    public native Iterator<Partition> getPartitionIterator();

    public native boolean getDeleteData();
}
