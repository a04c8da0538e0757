package org.pysync.listener;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that says that a process with the listener runs: its name tells which, and the process holds its lock.
 *
 * <p>Promise: that of {@link LockedFile}.
 */
final class Marker {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);
    private static final byte[] HEADER = "PYSYNC-INSTANCE 1\n".getBytes(StandardCharsets.US_ASCII);

    private Marker() {
    }

    /** Our own. */
    static LockedFile create(Path path) throws IOException {
        return LockedFile.create(path, HEADER);
    }

    /** That of a process which is dead, now locked by us; null if its process lives, or it is none of ours. */
    static LockedFile ofDead(Path path) throws IOException {
        return LockedFile.take(path, HEADER, () -> LOG.error("pysync: {} is not a marker of version 1; it is left alone: "
                + "run pysync verify, and remove it", path));
    }
}
