package org.apache.hadoop.hive.metastore.events;

/** Stub: only Hive 4 has such an event. */
public abstract class DeleteTableColumnStatEvent extends ListenerEvent {
    private DeleteTableColumnStatEvent() {
        super(false, null);
    }

    public native String getCatName();

    public native String getDBName();

    public native String getTableName();
}
