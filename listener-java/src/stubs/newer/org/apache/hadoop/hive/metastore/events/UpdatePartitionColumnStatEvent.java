package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.ColumnStatistics;
import org.apache.hadoop.hive.metastore.api.Table;

/** Stub: only Hive 4 has such an event. */
public abstract class UpdatePartitionColumnStatEvent extends ListenerEvent {
    private UpdatePartitionColumnStatEvent() {
        super(false, null);
    }

    public native ColumnStatistics getPartColStats();

    public native Table getTableObj();
}
