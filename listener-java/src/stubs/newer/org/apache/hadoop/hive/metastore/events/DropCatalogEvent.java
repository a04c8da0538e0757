package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Catalog;

/** Stub: Hive 2.3 has no such event. */
public abstract class DropCatalogEvent extends ListenerEvent {
    private DropCatalogEvent() {
        super(false, null);
    }

    public native Catalog getCatalog();
}
