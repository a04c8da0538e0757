package org.apache.hadoop.fs;

import java.io.IOException;

/** Stub. */
public class FilterFileSystem extends FileSystem {
    public FilterFileSystem(FileSystem files) {}

    @Override
    @Deprecated
    protected native void rename(Path from, Path to, Options.Rename... options) throws IOException;
}
