package org.apache.hadoop.hive.metastore.events;

/** Stub: Hive 2.3 has no such event. */
public abstract class DropConstraintEvent extends ListenerEvent {
    private DropConstraintEvent() {
        super(false, null);
    }

    public native String getCatName();

    public native String getDbName();

    public native String getTableName();

    public native String getConstraintName();
}
