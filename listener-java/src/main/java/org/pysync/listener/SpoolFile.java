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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One file of the spool: a header line, then one {@link SpoolRecord} after the other.
 *
 * <p>Promise: an event is on disk when {@link #append} returns; the file stays locked while it is open; a
 * record that is cut off or damaged ends the file, and a damaged one keeps it from being deleted. Not for
 * several threads at once.
 *
 * <p>Plain reads and writes, because an interrupt of the writing thread would close a FileChannel, and with
 * it give away the lock.
 */
final class SpoolFile implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);
    private static final byte[] HEADER = "PYSYNC-SPOOL 1\n".getBytes(StandardCharsets.US_ASCII);
    private static final long ENOUGH = 1 << 20;
    /** A longer end of a file is no record that was cut off: no event is that long. */
    private static final long LONGEST_CUT_OFF = SpoolRecord.HEAD + SpoolRecord.LONGEST;

    private final Path path;
    private final RandomAccessFile file;
    private long readAt = HEADER.length;
    private long nextReadAt = HEADER.length;
    private long end = HEADER.length;
    private boolean damaged;

    private SpoolFile(Path path, RandomAccessFile file) {
        this.path = path;
        this.file = file;
    }

    /** A new file; it gets its name only when it is locked, so that nobody takes it over in between. */
    static SpoolFile create(Path path) throws IOException {
        Path unnamed = path.resolveSibling(path.getFileName() + ".new");
        Claim.take(path);
        SpoolFile created = null;
        try {
            Files.deleteIfExists(unnamed);
            Files.createFile(unnamed, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            created = new SpoolFile(path, new RandomAccessFile(unnamed.toFile(), "rw"));
            created.lock();
            created.file.write(HEADER); // reaches the disk with the first event
            Files.move(unnamed, path, StandardCopyOption.ATOMIC_MOVE);
            SpoolDirectory.sync(path.getParent());
            return created;
        } catch (IOException | RuntimeException e) {
            closeQuietly(created);
            Claim.release(path);
            deleteQuietly(unnamed);
            throw e;
        }
    }

    /** The file of an earlier process, or null if it is in use, empty or none of ours. */
    static SpoolFile adopt(Path path) throws IOException {
        if (!Claim.take(path)) {
            return null;
        }
        SpoolFile adopted = null;
        try {
            adopted = new SpoolFile(path, new RandomAccessFile(path.toFile(), "rw"));
            if (adopted.lock() && adopted.readHeader()) {
                return adopted;
            }
        } catch (IOException | RuntimeException e) {
            closeQuietly(adopted);
            Claim.release(path);
            throw e;
        }
        adopted.close();
        return null;
    }

    void append(byte[] event) throws IOException {
        byte[] record = SpoolRecord.of(event);
        try {
            file.seek(end);
            file.write(record);
            file.getFD().sync();
        } catch (IOException e) {
            cutQuietly();
            throw e;
        }
        end += record.length;
    }

    /** The oldest events that are not forgotten yet, as many as that, and a megabyte or so; none at the end. */
    List<byte[]> first(int most) throws IOException {
        List<byte[]> events = new ArrayList<>();
        long at = readAt;
        while (at < end && events.size() < most && at - readAt < ENOUGH) {
            byte[] event = SpoolRecord.read(file, at, end);
            if (event == null) {
                break;
            }
            events.add(event);
            at += SpoolRecord.HEAD + event.length;
        }
        if (events.isEmpty() && !isEmpty()) {
            stop();
        }
        nextReadAt = at;
        return events;
    }

    /** The events that {@link #first} gave are delivered. */
    void forgetFirst() {
        readAt = nextReadAt;
    }

    boolean isEmpty() {
        return readAt >= end;
    }

    boolean isDamaged() {
        return damaged;
    }

    /** The bytes that it takes on disk, delivered ones too. */
    long size() {
        return end;
    }

    /** What a file with this event alone would take. */
    static long sizeWith(byte[] event) {
        return HEADER.length + sizeOf(event);
    }

    static long sizeOf(byte[] event) {
        return SpoolRecord.HEAD + (long) event.length;
    }

    /** Everything is delivered: the file goes, unless it is damaged; then it stays for a person to look at. */
    void remove() throws IOException {
        try {
            if (damaged) {
                Files.move(path, path.resolveSibling(path.getFileName() + ".damaged"),
                        StandardCopyOption.REPLACE_EXISTING);
            } else {
                Files.deleteIfExists(path);
            }
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

    private boolean readHeader() throws IOException {
        byte[] found = new byte[(int) Math.min(HEADER.length, file.length())];
        file.readFully(found);
        if (Arrays.equals(found, HEADER)) {
            end = file.length();
            return true;
        }
        if (Arrays.equals(found, Arrays.copyOf(HEADER, found.length))) {
            Files.deleteIfExists(path);
        } else {
            LOG.error("pysync: {} is not a spool file of version 1; it is left alone: "
                    + "deliver it with the pysync release that wrote it", path);
        }
        return false;
    }

    private void stop() throws IOException {
        if (isCutOff()) {
            LOG.warn("pysync: {} ends in a record that was cut off; {} bytes dropped", path, end - readAt);
        } else {
            LOG.error("pysync: {} is damaged at byte {}: the {} bytes from there on are not delivered; "
                    + "the file is kept as {}.damaged: run pysync verify",
                    path, readAt, end - readAt, path.getFileName());
            damaged = true;
        }
        readAt = end;
    }

    private boolean isCutOff() throws IOException {
        if (end - readAt > LONGEST_CUT_OFF) {
            return false;
        }
        byte[] rest = new byte[(int) Math.max(0, Math.min(end, file.length()) - readAt)];
        file.seek(readAt);
        file.readFully(rest);
        return SpoolRecord.isCutOff(rest);
    }

    /** A half-written record would hide the ones after it. */
    private void cutQuietly() {
        try {
            file.setLength(end);
        } catch (IOException e) {
            // The next record is written over it.
        }
    }

    private static void closeQuietly(SpoolFile spoolFile) {
        try {
            if (spoolFile != null) {
                spoolFile.close();
            }
        } catch (IOException e) {
            // The first error is the one to tell.
        }
    }

    private static void deleteQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            // The first error is the one to tell.
        }
    }
}
