package org.apache.hadoop.hive.metastore.events;

/** Stub: only Hive 4 has such an event. */
public abstract class UpdatePartitionColumnStatEventBatch extends ListenerEvent {
    private UpdatePartitionColumnStatEventBatch() {
        super(false, null);
    }

    public native UpdatePartitionColumnStatEvent getPartColStatEvent(int index);

    public native int getNumEntries();
}
