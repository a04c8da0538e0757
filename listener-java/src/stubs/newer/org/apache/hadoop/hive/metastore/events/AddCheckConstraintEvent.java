package org.apache.hadoop.hive.metastore.events;

import java.util.List;

/** Stub: Hive 2.3 has no such event. */
public abstract class AddCheckConstraintEvent extends ListenerEvent {
    private AddCheckConstraintEvent() {
        super(false, null);
    }

    public native List<?> getCheckConstraintCols();
}
