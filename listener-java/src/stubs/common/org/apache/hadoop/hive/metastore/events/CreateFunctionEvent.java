package org.apache.hadoop.hive.metastore.events;

import org.apache.hadoop.hive.metastore.api.Function;

/** Stub. */
public abstract class CreateFunctionEvent extends ListenerEvent {
    public native Function getFunction();
}
