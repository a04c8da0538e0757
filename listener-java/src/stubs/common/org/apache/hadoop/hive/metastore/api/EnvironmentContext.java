package org.apache.hadoop.hive.metastore.api;

import java.util.Map;

/** Stub. */
public abstract class EnvironmentContext {
    public native Map<String, String> getProperties();
}
