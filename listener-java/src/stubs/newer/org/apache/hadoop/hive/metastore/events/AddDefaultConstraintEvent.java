package org.apache.hadoop.hive.metastore.events;

import java.util.List;

/** Stub: Hive 2.3 has no such event. */
public abstract class AddDefaultConstraintEvent extends ListenerEvent {
    private AddDefaultConstraintEvent() {
        super(false, null);
    }

    public native List<?> getDefaultConstraintCols();
}
