package org.apache.hadoop.fs.permission;

import org.apache.hadoop.conf.Configuration;

/** Stub. */
public class FsPermission {
    public FsPermission(short mode) {}

    public native short toShort();

    public static native FsPermission getFileDefault();

    public static native FsPermission getUMask(Configuration conf);

    public native FsPermission applyUMask(FsPermission mask);
}
