package org.apache.hadoop.fs;

import org.apache.hadoop.fs.permission.FsPermission;

/** Stub. */
public class FileStatus {
    public native Path getPath();

    public native long getLen();

    public native long getModificationTime();

    public native FsPermission getPermission();

    public native boolean isDirectory();

    public native boolean isSymlink();
}
