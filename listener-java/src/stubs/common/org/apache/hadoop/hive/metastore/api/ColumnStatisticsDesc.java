package org.apache.hadoop.hive.metastore.api;

/** Stub. */
public abstract class ColumnStatisticsDesc {
    public native String getDbName();

    public native String getTableName();

    public native String getPartName();

    public native boolean isIsTblLevel();
}
