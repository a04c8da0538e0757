package org.apache.hadoop.conf;

/** Stub. */
public class Configuration {
    public native String get(String name);

    public native int getInt(String name, int fallback);

    public native void setInt(String name, int value);
}
