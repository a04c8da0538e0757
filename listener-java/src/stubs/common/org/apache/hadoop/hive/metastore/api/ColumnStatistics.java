package org.apache.hadoop.hive.metastore.api;

/** Stub. */
public abstract class ColumnStatistics {
    public native ColumnStatisticsDesc getStatsDesc();
}
