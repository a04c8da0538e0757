package org.pysync.listener;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that says that a process with the listener runs: its name tells which, and the process holds its lock.
 *
 * <p>Promise: it is on disk, and locked, from the moment that it has its name; the lock ends with the process,
 * however that ends. Not for several threads at once.
 */
final class Marker implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);
    private static final byte[] HEADER = "PYSYNC-INSTANCE 1\n".getBytes(StandardCharsets.US_ASCII);

    private final Path path;
    private final RandomAccessFile file;

    private Marker(Path path, RandomAccessFile file) {
        this.path = path;
        this.file = file;
    }

    /** Our own. */
    static Marker create(Path path) throws IOException {
        Path unnamed = path.resolveSibling(path.getFileName() + ".new");
        Claim.take(path);
        Marker created = null;
        try {
            Files.createFile(unnamed,
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            created = new Marker(path, new RandomAccessFile(unnamed.toFile(), "rw"));
            created.lock();
            created.file.write(HEADER);
            created.file.getFD().sync();
            Files.move(unnamed, path, StandardCopyOption.ATOMIC_MOVE);
            SpoolDirectory.sync(path.getParent());
            return created;
        } catch (IOException | RuntimeException e) {
            give(path, created);
            Files.deleteIfExists(unnamed);
            throw e;
        }
    }

    /** That of a process which is dead, now locked by us; null if its process lives, or it is none of ours. */
    static Marker ofDead(Path path) throws IOException {
        if (!Claim.take(path)) {
            return null;
        }
        Marker found = null;
        try {
            found = new Marker(path, new RandomAccessFile(path.toFile(), "rw"));
            if (found.lock() && Files.exists(path) && found.isOfVersion1()) {
                return found;
            }
        } catch (IOException | RuntimeException e) {
            give(path, found);
            throw e;
        }
        found.close();
        return null;
    }

    /** The file goes; nobody will hear of its process again. */
    void remove() throws IOException {
        try {
            Files.deleteIfExists(path);
        } finally {
            close();
        }
    }

    /** Closing gives up the lock. */
    @Override
    public void close() throws IOException {
        Claim.release(path);
        file.close();
    }

    private boolean lock() throws IOException {
        FileLock lock = file.getChannel().tryLock();
        return lock != null;
    }

    private boolean isOfVersion1() throws IOException {
        byte[] found = new byte[(int) Math.min(HEADER.length, file.length())];
        file.readFully(found);
        boolean known = Arrays.equals(found, HEADER);
        if (found.length == 0) {
            Files.deleteIfExists(path); // it went while we opened it, which made it anew: none of ours is ever empty
        } else if (!known) {
            LOG.error("pysync: {} is not a marker of version 1; it is left alone: run pysync verify, "
                    + "and remove it", path);
        }
        return known;
    }

    private static void give(Path path, Marker marker) {
        try {
            if (marker == null) {
                Claim.release(path);
            } else {
                marker.close();
            }
        } catch (IOException e) {
            // The first error is the one to tell.
        }
    }
}
