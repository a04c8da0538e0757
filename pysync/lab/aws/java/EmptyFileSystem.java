package pysync.lab;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** What DDL sees of s3: every path is a directory, there as soon as it is named, with nothing in it. */
public final class EmptyFileSystem extends FileSystem {
    private URI uri;

    @Override
    public void initialize(URI name, Configuration conf) throws IOException {
        super.initialize(name, conf);
        uri = URI.create(name.getScheme() + "://" + name.getAuthority());
    }

    @Override
    public String getScheme() {
        return "s3";
    }

    @Override
    public URI getUri() {
        return uri;
    }

    @Override
    public FileStatus getFileStatus(Path path) {
        return new FileStatus(0, true, 1, 0, 0, 0, FsPermission.getDirDefault(), "s3", "s3", makeQualified(path));
    }

    @Override
    public FileStatus[] listStatus(Path path) {
        return new FileStatus[0];
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) {
        return true;
    }

    @Override
    public boolean delete(Path path, boolean recursive) {
        return true;
    }

    @Override
    public boolean rename(Path from, Path to) {
        return true;
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        throw new FileNotFoundException(path + " is a directory");
    }

    @Override
    public FSDataOutputStream create(
            Path path, FsPermission permission, boolean overwrite, int bufferSize, short replication, long blockSize,
            Progressable progress) throws IOException {
        throw new IOException("statements of DDL write no files");
    }

    @Override
    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) throws IOException {
        throw new IOException("statements of DDL write no files");
    }

    @Override
    public void setWorkingDirectory(Path path) {
    }

    @Override
    public Path getWorkingDirectory() {
        return new Path(uri.toString(), "/");
    }
}
