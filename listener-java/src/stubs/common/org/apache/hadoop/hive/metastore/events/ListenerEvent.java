package org.apache.hadoop.hive.metastore.events;

import java.util.Map;
import org.apache.hadoop.hive.metastore.api.EnvironmentContext;

/** Stub. */
public abstract class ListenerEvent {
    ListenerEvent() {}

    ListenerEvent(boolean status, Object handler) {}

    public native boolean getStatus();

    public native EnvironmentContext getEnvironmentContext();

    public native Map<String, String> getParameters();
}
