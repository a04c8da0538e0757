package org.pysync.copy;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

/**
 * The rename that replaces, which every file system has and Hadoop shows to file systems alone.
 *
 * <p>On HDFS it is one request and happens at one moment; others look, delete and rename.
 */
final class Rename extends FilterFileSystem {
    private Rename(FileSystem files) {
        super(files);
    }

    /** FileNotFoundException where there is no such file. */
    @SuppressWarnings("deprecation") // its only replacement opens a connection for each file
    static void over(FileSystem files, Path from, Path to) throws IOException {
        new Rename(files).rename(from, to, Options.Rename.OVERWRITE);
    }
}
