package org.apache.hadoop.fs;

/** Stub. */
public abstract class FileChecksum {
    @Override
    public native boolean equals(Object other);

    @Override
    public native int hashCode();
}
