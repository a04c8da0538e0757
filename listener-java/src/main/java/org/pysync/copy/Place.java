package org.pysync.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.fs.viewfs.ViewFileSystem;
import org.apache.hadoop.security.AccessControlException;

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
            java.nio.file.Path file = local();
            Files.createDirectories(file.getParent());
            return Files.newOutputStream(
                    file,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE,
                    LinkOption.NOFOLLOW_LINKS);
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

    /**
     * Give this file the name of another one, which it replaces: at one moment, where the file system can. False where it
     * is not there.
     */
    boolean replace(Place other) throws IOException {
        if (isLocal()) {
            return replaceLocal(other);
        }
        Place from = behindMounts();
        Place to = other.behindMounts();
        if (from.isLocal()) {
            from.files.delete(from.checksum(from.path), false); // written through the view
            return from.replaceLocal(to);
        }
        try {
            Rename.over(from.files, from.path, to.path);
            return true;
        } catch (IOException error) {
            if (from.status() == null) {
                return false;
            }
            throw to.isDirectory() ? new FileAlreadyExistsException(to.path + " is a directory") : error;
        }
    }

    private boolean isDirectory() throws IOException {
        FileStatus there = status();
        return there != null && there.isDirectory();
    }

    private boolean replaceLocal(Place other) throws IOException {
        java.nio.file.Path to = other.local();
        files.delete(checksum(other.path), false); // of what was there before
        try {
            Files.move(local(), to, StandardCopyOption.ATOMIC_MOVE);
            return true;
        } catch (NoSuchFileException error) {
            if (status() != null) {
                throw error;
            }
            return false;
        } catch (FileSystemException error) {
            throw Files.isDirectory(to) ? new FileAlreadyExistsException(other.path + " is a directory") : error;
        }
    }

    /** Where a path of a view is in truth: a view can rename, but not replace at one moment. */
    private Place behindMounts() throws IOException {
        return files instanceof ViewFileSystem ? at(path.getParent()).behindView().below(path.getName()) : this;
    }

    /** Where a path of a view, which is there, is in truth. */
    Place behindView() throws IOException {
        return files instanceof ViewFileSystem ? of(files.resolvePath(path).toString()) : this;
    }

    /** Whether it is a symbolic link on a disk of this machine, of which Hadoop tells nothing: it follows. */
    boolean isLocalLink() {
        return isLocal() && Files.isSymbolicLink(local());
    }

    /**
     * Refuse to touch what symbolic links between `top` and this place lead to. They were left out when it was listed;
     * one may have come since.
     */
    void refuseLinks(Place top) throws IOException {
        if (isLocal() && top.isLocal()) {
            java.nio.file.Path at = top.local();
            for (java.nio.file.Path name : at.relativize(local())) {
                at = at.resolve(name);
                if (Files.isSymbolicLink(at)) {
                    throw new AccessControlException(at + " is a symbolic link");
                }
            }
        }
    }

    void delete() throws IOException {
        files.delete(path, false);
        if (isLocal()) {
            files.delete(checksum(path), false);
        }
    }

    private java.nio.file.Path local() {
        return ((RawLocalFileSystem) files).pathToFile(path).toPath();
    }

    /** Whether it is on a disk of this machine. */
    boolean isLocal() {
        return files instanceof RawLocalFileSystem;
    }
}
