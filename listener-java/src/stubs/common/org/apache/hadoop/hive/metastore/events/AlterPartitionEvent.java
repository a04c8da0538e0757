package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;

/** Stub. */
public abstract class AlterPartitionEvent extends ListenerEvent {
    public native Table getTable();

    public native Partition getOldPartition();

    public native Partition getNewPartition();
}
