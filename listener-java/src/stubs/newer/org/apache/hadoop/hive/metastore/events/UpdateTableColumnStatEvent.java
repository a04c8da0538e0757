package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.ColumnStatistics;
import org.apache.hadoop.hive.metastore.api.Table;

/** Stub: only Hive 4 has such an event. */
public abstract class UpdateTableColumnStatEvent extends ListenerEvent {
    private UpdateTableColumnStatEvent() {
        super(false, null);
    }

    public native ColumnStatistics getColStats();

    public native Table getTableObj();
}
