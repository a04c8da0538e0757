package org.pysync.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.util.EnumSet;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A path with its file system.
 *
 * <p>Local files are reached without the layer that keeps a checksum file beside each, and made by Java itself: Hadoop
 * forks a process for every one of them, to set its permissions.
 */
final class Place {
    final Path path;
    final FileSystem files;

    private Place(Path path, FileSystem files) {
        this.path = path;
        this.files = files;
    }

    /** The place of a location such as `hdfs://host/path`. */
    static Place of(String location) throws IOException {
        Path path = new Path(location);
        FileSystem files = path.getFileSystem(SparkSettings.now());
        boolean local = files instanceof LocalFileSystem;
        return new Place(path, local ? ((LocalFileSystem) files).getRaw() : files);
    }

    /** Another path of the same file system. */
    Place at(Path other) {
        return new Place(other, files);
    }

    /** A file below this one; `name` is relative, with slashes. */
    Place below(String name) {
        return at(new Path(path.toString() + "/" + name));
    }

    private Path checksum(Path file) {
        return new Path(file.getParent(), new Path(null, null, "." + file.getName() + ".crc"));
    }

    /** What is there, or null. */
    FileStatus status() throws IOException {
        try {
            return files.getFileStatus(path);
        } catch (FileNotFoundException absent) {
            return null;
        }
    }

    /** A new file, or an empty one in place of what is there. */
    OutputStream create(int buffer) throws IOException {
        if (isLocal()) {
            java.nio.file.Path file = ((RawLocalFileSystem) files).pathToFile(path).toPath();
            Files.createDirectories(file.getParent());
            return Files.newOutputStream(file);
        }
        return files.create(
                path,
                FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(files.getConf())),
                EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE),
                buffer,
                files.getDefaultReplication(path),
                files.getDefaultBlockSize(path),
                null);
    }

    /** Give this file the name of another one, which it replaces: at one moment, where the file system can. */
    void replace(Place other) throws IOException {
        if (isLocal()) {
            files.delete(checksum(other.path), false); // of what was there before
            renamed(files.rename(path, other.path), other);
            return;
        }
        if (other.status() == null) {
            renamed(files.rename(path, other.path), other);
            return;
        }
        try {
            FileContext.getFileContext(path.toUri(), files.getConf()).rename(path, other.path, Options.Rename.OVERWRITE);
        } catch (UnsupportedFileSystemException | RuntimeException cannot) { // it has no renames that replace
            files.delete(other.path, false);
            renamed(files.rename(path, other.path), other);
        }
    }

    void delete() throws IOException {
        files.delete(path, false);
        if (isLocal()) {
            files.delete(checksum(path), false);
        }
    }

    private boolean isLocal() {
        return files instanceof RawLocalFileSystem;
    }

    private void renamed(boolean done, Place other) throws IOException {
        if (!done) {
            throw new IOException("cannot rename " + path + " to " + other.path.getName());
        }
    }
}
