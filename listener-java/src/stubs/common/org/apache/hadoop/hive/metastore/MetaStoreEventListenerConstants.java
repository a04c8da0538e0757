package org.apache.hadoop.hive.metastore;

/** Stub: the compiler copies the values. */
public abstract class MetaStoreEventListenerConstants {
    public static final String HIVE_METASTORE_TRANSACTION_ACTIVE = "HIVE_METASTORE_TRANSACTION_ACTIVE";

    public static final String DB_NOTIFICATION_EVENT_ID_KEY_NAME = "DB_NOTIFICATION_EVENT_ID_KEY_NAME";
}
