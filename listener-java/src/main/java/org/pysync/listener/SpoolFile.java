package org.pysync.listener;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One file of the spool: a header line, then one {@link SpoolRecord} after the other.
 *
 * <p>Promise: an event outlives the process when {@link #append} returns, and a power cut when {@link #sync} does; the
 * file stays locked while it is open; a record that is cut off or damaged ends the file, and a damaged one keeps it from
 * being deleted. Not for several threads at once, but for {@link #sync}.
 */
final class SpoolFile {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);
    private static final byte[] HEADER = "PYSYNC-SPOOL 1\n".getBytes(StandardCharsets.US_ASCII);
    /** Bytes of events, at a time. */
    static final long ENOUGH = 1 << 20;
    /** A longer end of a file is no record that was cut off: no event is that long. */
    private static final long LONGEST_CUT_OFF = SpoolRecord.HEAD + SpoolRecord.LONGEST;

    private final LockedFile locked;
    private final Path path;
    private final RandomAccessFile file;
    private long readAt = HEADER.length;
    private long nextReadAt = HEADER.length;
    private long end = HEADER.length;
    private boolean damaged;
    private volatile boolean onDisk = true;

    private SpoolFile(LockedFile locked) {
        this.locked = locked;
        this.path = locked.path;
        this.file = locked.file;
    }

    static SpoolFile create(Path path) throws IOException {
        return new SpoolFile(LockedFile.create(path, HEADER));
    }

    /** The file of an earlier process, or null if it is in use, empty or none of ours. */
    static SpoolFile adopt(Path path) throws IOException {
        LockedFile found = LockedFile.take(path, HEADER, () -> LOG.error("pysync: {} is not a spool file of version 1; "
                + "it is left alone: deliver it with the pysync release that wrote it", path));
        if (found == null) {
            return null;
        }
        SpoolFile adopted = new SpoolFile(found);
        adopted.end = found.file.length();
        return adopted;
    }

    void append(byte[] event) throws IOException {
        try {
            file.seek(end);
            SpoolRecord.write(file, event);
        } catch (IOException e) {
            cutQuietly();
            throw e;
        }
        end += sizeOf(event);
        onDisk = false;
    }

    boolean isOnDisk() {
        return onDisk;
    }

    /** What was appended before is on disk when this returns. From any thread. */
    void sync() throws IOException {
        onDisk = true; // before it is: of what is appended meanwhile nobody knows
        try {
            file.getFD().sync();
        } catch (IOException e) {
            onDisk = false;
            throw e;
        }
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

    /** Everything is delivered, and more may come: as if it were new. */
    void rewind() throws IOException {
        file.setLength(HEADER.length);
        readAt = nextReadAt = end = HEADER.length;
        onDisk = true;
    }

    /** Somebody may have taken it away, or its directory: what is written then is in no file. */
    boolean isThere() {
        return Files.exists(path);
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
        if (!damaged) {
            locked.remove();
            return;
        }
        try {
            Files.move(path, path.resolveSibling(path.getFileName() + ".damaged"), StandardCopyOption.REPLACE_EXISTING);
        } finally {
            locked.close();
        }
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
}
