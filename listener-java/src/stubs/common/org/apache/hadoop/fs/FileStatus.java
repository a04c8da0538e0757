package org.apache.hadoop.fs;

/** Stub. */
public class FileStatus {
    public native Path getPath();

    public native long getLen();

    public native long getModificationTime();

    public native boolean isDirectory();

    public native boolean isSymlink();
}
