package org.apache.hadoop.fs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/** Stub. */
public class Path {
    public Path(String path) {}

    public Path(Path parent, Path child) {}

    public Path(String scheme, String authority, String path) {}

    public native FileSystem getFileSystem(Configuration conf) throws IOException;

    public native Path getParent();

    public native String getName();

    @Override
    public native String toString();
}
