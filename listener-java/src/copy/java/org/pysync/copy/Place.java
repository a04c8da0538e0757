package org.pysync.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Set;
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
    private static final Set<OpenOption> NEW_FILE = new HashSet<>(Arrays.asList(
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE,
            LinkOption.NOFOLLOW_LINKS));
    private static final FileAttribute<?> PRIVATE_FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<?> PRIVATE_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    /** Object stores invent permission bits. */
    private static final Set<String> WITH_PERMISSIONS = new HashSet<>(Arrays.asList("hdfs", "webhdfs", "swebhdfs"));

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

    /**
     * A new file, or an empty one in place of what is there. Nobody but its owner may read it before `keepPermission`.
     * On a local disk its directory must be there.
     */
    OutputStream create(int buffer) throws IOException {
        if (isLocal()) {
            return Channels.newOutputStream(Files.newByteChannel(local(), NEW_FILE, PRIVATE_FILE));
        }
        return files.create(
                path,
                new FsPermission((short) 0600),
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

    /** The permission bits of what is here; null where the file system keeps none. */
    FsPermission permission() throws IOException {
        Place real = behindView();
        if (real.isLocal()) {
            return new FsPermission(bits(Files.getPosixFilePermissions(real.local())));
        }
        if (!WITH_PERMISSIONS.contains(real.files.getUri().getScheme())) {
            return null;
        }
        return new FsPermission((short) (real.files.getFileStatus(real.path).getPermission().toShort() & 0777));
    }

    /** Give this file the permission bits of its source, or, where that has none, those that a new file gets. */
    void keepPermission(FsPermission ofSource) throws IOException {
        setPermission(ofSource != null ? ofSource : usual(0666));
    }

    /** Make this directory with these permission bits (null: those that a new one gets); its owner may write into it. */
    void makeDirectory(FsPermission ofSource) throws IOException {
        FsPermission wanted = ofSource != null ? new FsPermission((short) (ofSource.toShort() | 0700)) : usual(0777);
        if (isLocal()) {
            Files.createDirectories(local().getParent());
            try {
                Files.createDirectory(local(), PRIVATE_DIRECTORY);
            } catch (java.nio.file.FileAlreadyExistsException other) {
                return; // another task was faster, or a file is in the way, which is found when it is written into
            }
        } else {
            files.mkdirs(path, new FsPermission((short) 0700));
        }
        setPermission(wanted);
    }

    private FsPermission usual(int bits) {
        return new FsPermission((short) bits).applyUMask(FsPermission.getUMask(files.getConf()));
    }

    private void setPermission(FsPermission wanted) throws IOException {
        if (isLocal()) {
            Files.setPosixFilePermissions(local(), permissions(wanted.toShort()));
        } else {
            files.setPermission(path, wanted);
        }
    }

    private static short bits(Set<PosixFilePermission> permissions) {
        int bits = 0;
        for (PosixFilePermission permission : permissions) {
            bits |= 0400 >> permission.ordinal();
        }
        return (short) bits;
    }

    private static Set<PosixFilePermission> permissions(short bits) {
        Set<PosixFilePermission> found = EnumSet.noneOf(PosixFilePermission.class);
        for (PosixFilePermission permission : PosixFilePermission.values()) {
            if ((bits & 0400 >> permission.ordinal()) != 0) {
                found.add(permission);
            }
        }
        return found;
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

    /** Refuse what only looks like a file: to read a FIFO or a device may never end. */
    void refuseSpecial() throws IOException {
        boolean isFile = !isLocal() || Files.isRegularFile(local(), LinkOption.NOFOLLOW_LINKS);
        if (!isFile && Files.exists(local(), LinkOption.NOFOLLOW_LINKS)) {
            throw new AccessControlException(path + " is not a regular file");
        }
    }

    void delete() throws IOException {
        files.delete(path, false);
        if (isLocal()) {
            files.delete(checksum(path), false);
        }
    }

    /** Remove a directory and all that is in it; a symbolic link there goes, and nothing that it leads to. */
    void discard() throws IOException {
        files.delete(path, true);
    }

    private java.nio.file.Path local() {
        return ((RawLocalFileSystem) files).pathToFile(path).toPath();
    }

    /** Whether it is on a disk of this machine. */
    boolean isLocal() {
        return files instanceof RawLocalFileSystem;
    }
}
