package org.apache.hadoop.fs.permission;

import org.apache.hadoop.conf.Configuration;

/** Stub. */
public abstract class FsPermission {
    public static native FsPermission getFileDefault();

    public static native FsPermission getUMask(Configuration conf);

    public native FsPermission applyUMask(FsPermission mask);
}
