package org.apache.hadoop.fs;

import java.io.File;

/** Stub. */
public abstract class RawLocalFileSystem extends FileSystem {
    public native File pathToFile(Path path);
}
