package org.apache.hadoop.hive.metastore.events;

/** Stub: only Hive 4 has such an event. */
public abstract class DeletePartitionColumnStatEvent extends ListenerEvent {
    private DeletePartitionColumnStatEvent() {
        super(false, null);
    }

    public native String getCatName();

    public native String getDBName();

    public native String getTableName();

    public native String getPartName();
}
