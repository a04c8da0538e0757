package org.pysync.listener;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;

/**
 * A file that begins with a header line, and that its process holds locked.
 *
 * <p>Promise: it is on disk, whole and locked, from the moment that it has its name, so that nobody takes it over in
 * between; the lock ends with the process, however that ends. Readable for its owner only. Not for several threads at
 * once.
 *
 * <p>Plain reads and writes, because an interrupt of the writing thread would close a FileChannel, and with
 * it give away the lock. Closing any second handle of a file gives it away, too, so that one which is open in this JVM
 * must not be opened again: not even by another class loader, hence a system property.
 */
final class LockedFile implements Closeable {
    final Path path;
    final RandomAccessFile file;

    private LockedFile(Path path, RandomAccessFile file) {
        this.path = path;
        this.file = file;
    }

    /** A new file, which holds the header alone. */
    static LockedFile create(Path path, byte[] header) throws IOException {
        Path unnamed = path.resolveSibling(path.getFileName() + ".new");
        System.setProperty(claim(path), "open");
        LockedFile created = null;
        try {
            Files.deleteIfExists(unnamed);
            Files.createFile(unnamed, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            created = new LockedFile(path, new RandomAccessFile(unnamed.toFile(), "rw"));
            created.file.getChannel().tryLock();
            created.file.write(header);
            created.file.getFD().sync();
            Files.move(unnamed, path, StandardCopyOption.ATOMIC_MOVE);
            SpoolDirectory.sync(path.getParent());
            return created;
        } catch (IOException | RuntimeException e) {
            giveQuietly(path, created);
            deleteQuietly(unnamed);
            throw e;
        }
    }

    /**
     * The file that an earlier process left; null if that lives, if it is open here, or if it does not begin with the
     * header: {@code unknown} hears of one that begins with something else.
     */
    static LockedFile take(Path path, byte[] header, Runnable unknown) throws IOException {
        if (System.getProperties().putIfAbsent(claim(path), "open") != null) {
            return null;
        }
        LockedFile found = null;
        try {
            found = new LockedFile(path, new RandomAccessFile(path.toFile(), "rw"));
            if (found.file.getChannel().tryLock() != null && found.beginsWith(header, unknown)) {
                return found;
            }
        } catch (IOException | RuntimeException e) {
            giveQuietly(path, found);
            throw e;
        }
        found.close();
        return null;
    }

    /** One with less than a header goes: it was never written whole, or opening it made it anew. */
    private boolean beginsWith(byte[] header, Runnable unknown) throws IOException {
        byte[] found = new byte[(int) Math.min(header.length, file.length())];
        file.readFully(found);
        boolean known = Arrays.equals(found, header);
        if (!known && Arrays.equals(found, Arrays.copyOf(header, found.length))) {
            Files.deleteIfExists(path);
        } else if (!known) {
            unknown.run();
        }
        return known;
    }

    /** The file goes, and its lock. */
    void remove() throws IOException {
        try {
            Files.deleteIfExists(path);
        } finally {
            close();
        }
    }

    /** Gives up the lock. */
    @Override
    public void close() throws IOException {
        System.getProperties().remove(claim(path));
        file.close();
    }

    private static String claim(Path path) {
        return "pysync.spool.open:" + path;
    }

    /** The first error is the one to tell. */
    private static void giveQuietly(Path path, LockedFile made) {
        System.getProperties().remove(claim(path));
        try {
            if (made != null) {
                made.file.close();
            }
        } catch (IOException e) {
            // See above.
        }
    }

    private static void deleteQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            // See above.
        }
    }
}
