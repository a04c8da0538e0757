package org.pysync.listener;

import java.util.List;
import java.util.function.Supplier;

/**
 * Brings the events of the outbox to the sidecar, in their order: the only one that talks to it about events.
 *
 * <p>Promise: one call at a time; it never gives up. After a failure it probes with a ping, in pauses that grow to two
 * seconds, and brings what is in the spool to disk meanwhile.
 */
final class Shipper implements Runnable {
    private static final long FIRST_PAUSE_MS = 100;
    private static final long LAST_PAUSE_MS = 2_000;
    private static final long SYNC_MS = 100;
    /** Nobody waits so long; a sidecar slower than the deadline must not starve. */
    private static final int PATIENCE_MS = 5_000;
    private static final long PATIENCE_MS_PER_MIB = 500;
    private static final long MIB = 1 << 20;

    private final Outbox outbox;
    private final Sidecar sidecar;
    private final Settings settings;
    private final Supplier<String> report;
    private final int patienceMs;

    /** {@code report} is what the sidecar is told of us before the first event. */
    Shipper(Outbox outbox, Sidecar sidecar, Settings settings, Supplier<String> report) {
        this.outbox = outbox;
        this.sidecar = sidecar;
        this.settings = settings;
        this.report = report;
        this.patienceMs = Math.max(PATIENCE_MS, settings.deadlineMs);
    }

    @Override
    public void run() {
        long pause = FIRST_PAUSE_MS;
        while (true) {
            boolean some = false;
            try {
                some = shipWhileTaken();
            } catch (Throwable problem) {
                refusedQuietly("the spool cannot be delivered (" + problem.getClass().getSimpleName() + ")");
            }
            pause = some ? FIRST_PAUSE_MS : Math.min(2 * pause, LAST_PAUSE_MS);
            rest(pause);
        }
    }

    /**
     * Whether any were taken, when there is trouble. The first event goes alone: where it is the one that is refused,
     * those behind it are not sent again and again.
     */
    private boolean shipWhileTaken() throws Exception {
        boolean some = false;
        String trouble = sidecar.ping(patienceMs);
        if (trouble == null && outbox.size() > 0) {
            sidecar.report(report.get(), settings.deadlineMs); // however long it then refuses events, it knows of us
        }
        for (int most = 1; trouble == null; most = Outbox.TOGETHER) {
            List<byte[]> events = outbox.take(most);
            trouble = sidecar.offer(events, patienceFor(events));
            if (trouble == null) {
                outbox.delivered();
                some = true;
            }
        }
        outbox.refused(trouble);
        return some;
    }

    private long patienceFor(List<byte[]> events) {
        long bytes = events.stream().mapToLong(event -> event.length).sum();
        return patienceMs + bytes * PATIENCE_MS_PER_MIB / MIB;
    }

    private void refusedQuietly(String trouble) {
        try {
            outbox.refused(trouble);
        } catch (Throwable noMemoryToSaySo) {
            // The next round may have some.
        }
    }

    private void rest(long millis) {
        for (long left = millis; left > 0; left -= SYNC_MS) {
            try {
                outbox.sync();
                Thread.sleep(Math.min(left, SYNC_MS));
            } catch (Throwable goesOn) {
                // Our own thread: nobody means it to stop while there is something in the spool.
            }
        }
    }
}
