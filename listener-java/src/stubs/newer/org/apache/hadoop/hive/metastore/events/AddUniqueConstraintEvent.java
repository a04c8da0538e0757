package org.apache.hadoop.hive.metastore.events;

import java.util.List;

/** Stub: Hive 2.3 has no such event. */
public abstract class AddUniqueConstraintEvent extends ListenerEvent {
    private AddUniqueConstraintEvent() {
        super(false, null);
    }

    public native List<?> getUniqueConstraintCols();
}
