package org.apache.hadoop.fs;

import java.io.IOException;
import java.net.URI;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** Stub. */
public abstract class FileSystem {
    public native Configuration getConf();

    public native FileStatus getFileStatus(Path path) throws IOException;

    public native FileStatus[] listStatus(Path path) throws IOException;

    public native FileChecksum getFileChecksum(Path path) throws IOException;

    public native Path resolvePath(Path path) throws IOException;

    public native short getDefaultReplication(Path path);

    public native long getDefaultBlockSize(Path path);

    public native URI getUri();

    public native boolean mkdirs(Path path, FsPermission permission) throws IOException;

    public native void setPermission(Path path, FsPermission permission) throws IOException;

    public native boolean delete(Path path, boolean recursive) throws IOException;

    public native void setTimes(Path path, long modified, long accessed) throws IOException;

    public native FSDataInputStream open(Path path, int buffer) throws IOException;

    public native FSDataOutputStream create(
            Path path,
            FsPermission permission,
            EnumSet<CreateFlag> flags,
            int buffer,
            short replication,
            long block,
            Progressable progress)
            throws IOException;

    @Deprecated
    protected native void rename(Path from, Path to, Options.Rename... options) throws IOException;
}
