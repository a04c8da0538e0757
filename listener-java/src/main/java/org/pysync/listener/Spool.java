package org.pysync.listener;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The events that the sidecar has not taken yet: files of earlier processes first, oldest first, then our own
 * segments.
 *
 * <p>Promise: what {@link #append} has taken survives this process, and a power cut once its file is synced, and comes out
 * in order; all files together never grow beyond the limit; what is delivered takes no room, segment by segment. From
 * any thread: one waits for the other, as long as its disk takes.
 */
final class Spool {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);

    private static final long LONGEST_SEGMENT = 16L << 20;
    static final long LEAST_BYTES = LONGEST_SEGMENT;
    /** A thousand segments: each is an open, locked file of the metastore's process. */
    static final long MOST_BYTES = 16L << 30;
    /** Delivered segments make room one by one. */
    private static final int SEGMENTS = 16;

    private final SpoolDirectory directory;
    private final long maxBytes;
    private final long segmentBytes;
    private final Runnable onDamage;
    /** Read at the head, written at the tail. */
    private final Deque<SpoolFile> files = new ArrayDeque<>();
    /** The last of the files, if it takes more events. */
    private SpoolFile own;
    private long segments;
    private boolean open;
    private volatile long waitingBytes;

    /** {@code onDamage} hears of each file that is kept because it is damaged. */
    Spool(SpoolDirectory directory, long maxBytes, Runnable onDamage) {
        this.directory = directory;
        this.onDamage = onDamage;
        this.maxBytes = maxBytes;
        this.segmentBytes = Math.min(LONGEST_SEGMENT, maxBytes / SEGMENTS);
    }

    /** Makes the directory and takes over the files that no living process holds; again, if it failed before. */
    synchronized void open() throws IOException {
        directory.make();
        if (!open) {
            for (Path path : directory.files()) {
                adopt(path);
            }
            open = true;
            count();
        }
    }

    /** It is in the spool after this. Throws {@link SpoolFullException}, or what the disk says; the spool then has it not. */
    synchronized void append(byte[] event) throws IOException {
        if (own != null && own.size() + SpoolFile.sizeOf(event) > segmentBytes) {
            own = null;
        }
        if (own == null) {
            open();
        }
        if (size() + (own == null ? SpoolFile.sizeWith(event) : SpoolFile.sizeOf(event)) > maxBytes) {
            throw new SpoolFullException();
        }
        if (own == null) {
            own = SpoolFile.create(directory.segment(segments + 1));
            segments++;
            files.addLast(own);
        }
        own.append(event);
        count();
    }

    /** The oldest events, up to as many, in order; none if there is none. */
    synchronized List<byte[]> first(int most) throws IOException {
        while (!files.isEmpty()) {
            List<byte[]> events = files.getFirst().first(most);
            if (!events.isEmpty() || isEmpty()) {
                return events;
            }
            removeFirstFile();
            count();
        }
        return Collections.emptyList();
    }

    /** The events that {@link #first} gave are delivered. */
    synchronized void forgetFirst() throws IOException {
        SpoolFile first = files.getFirst();
        first.forgetFirst();
        if (!first.isEmpty()) {
            return;
        }
        if (first == own && first.isThere()) {
            first.rewind();
        } else {
            removeFirstFile();
        }
        count();
    }

    /** Our own segment, if nothing is in it: at the end of the process; else the next one does that. */
    synchronized void removeEmpty() {
        try {
            if (isEmpty() && own != null) {
                removeFirstFile();
            }
        } catch (IOException e) {
            // It stays, and says nothing.
        }
    }

    /** The bytes that its files take on disk; 0 if nothing in them is undelivered. Never waits for a disk. */
    long waitingBytes() {
        return waitingBytes;
    }

    synchronized boolean has(SpoolFile file) {
        return files.contains(file);
    }

    private boolean isEmpty() {
        return files.isEmpty() || files.getFirst() == own && own.isEmpty() && !own.isDamaged();
    }

    /** The files that a power cut might leave without the last events. */
    synchronized List<SpoolFile> notOnDisk() {
        List<SpoolFile> found = new ArrayList<>(files);
        found.removeIf(SpoolFile::isOnDisk);
        return found;
    }

    private void count() {
        waitingBytes = isEmpty() ? 0 : size();
    }

    private long size() {
        long size = 0;
        for (SpoolFile file : files) {
            size += file.size();
        }
        return size;
    }

    private void removeFirstFile() throws IOException {
        SpoolFile done = files.removeFirst();
        if (done == own) {
            own = null;
        }
        if (done.isDamaged()) {
            onDamage.run();
        }
        done.remove();
    }

    private void adopt(Path path) {
        try {
            SpoolFile file = SpoolFile.adopt(path);
            if (file != null) {
                files.addLast(file);
            }
        } catch (IOException | RuntimeException e) {
            LOG.error("pysync: the spool file {} of an earlier process cannot be read ({}); its events wait: "
                    + "give it to the user of the metastore and restart", path, e.getClass().getSimpleName());
        }
    }
}
