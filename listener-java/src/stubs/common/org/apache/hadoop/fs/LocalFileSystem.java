package org.apache.hadoop.fs;

/** Stub. */
public abstract class LocalFileSystem extends FileSystem {
    public native FileSystem getRaw();
}
