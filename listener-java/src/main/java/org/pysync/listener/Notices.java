package org.pysync.listener;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the log is told of a delivery, and how many events were lost.
 *
 * <p>Promise: each reason is one line in an outage, or after a second without a loss, however many events it
 * meets. Not for several threads at once.
 */
final class Notices {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);

    private static final String HELD = "held: ";
    /** A spool that is nearly full takes some events and others not: that is one trouble, not many. */
    private static final long CALM_NANOS = 1_000_000_000;

    private final Settings settings;
    private final String spool;
    private final String full;
    private final String unwritable;
    private final String hangs;
    private final Set<String> told = new HashSet<>();
    private final AtomicLong lost = new AtomicLong();
    private long lastTrouble;

    Notices(Settings settings) {
        this.settings = settings;
        this.spool = "the spool " + settings.spoolDir;
        this.full = spool + " is full (pysync.spool.max.bytes = "
                + settings.spoolMaxBytes + ")";
        this.unwritable = spool + " cannot be written";
        this.hangs = spool + " hangs";
    }

    long lost() {
        return lost.get();
    }

    void sidecarTakesNone(String trouble) {
        if (told.add(trouble)) {
            LOG.warn("pysync: the sidecar at {} does not take events: {}. They wait in {}",
                    settings.address(), trouble, settings.spoolDir);
        }
    }

    void sidecarTakesEvents(long delivered) {
        told.clear();
        LOG.info("pysync: the sidecar at {} takes events; {} delivered since the start, {} lost",
                settings.address(), delivered, lost);
    }

    void cannotOpen(Exception problem) {
        LOG.error("pysync: the spool directory {} cannot be used ({}); events are lost while the sidecar is "
                + "away, and calls wait for it while it is not: give it to the user of the metastore", settings.spoolDir, problem.getClass().getSimpleName());
    }

    void cannotMark(Exception problem) {
        LOG.error("pysync: no marker of this process can be kept in {} ({}): if it is killed before its first event is "
                + "delivered or spooled, nobody hears of that", settings.spoolDir, problem.getClass().getSimpleName());
    }

    void notSpooled(Throwable problem) {
        lost(whyNot(problem), problem);
    }

    /** It waits in memory, and the metastore's call for it. */
    void held(Throwable problem) {
        lastTrouble = System.nanoTime();
        if (told.add(HELD + whyNot(problem))) {
            LOG.error("pysync: {} ({}): a call of the metastore waits until the sidecar has its event, up to {} ms",
                    whyNot(problem), problem.getClass().getSimpleName(), settings.deadlineMs);
        }
    }

    /** Nobody waits for it any more; what comes waits in memory. */
    void spoolHangs() {
        lastTrouble = System.nanoTime();
        if (told.add(HELD + hangs)) {
            LOG.error("pysync: {}: a call of the metastore waited {} ms for it; the next ones do not, and their events wait "
                    + "in memory: look after its disk", hangs, settings.deadlineMs);
        }
    }

    /** There is no room in memory for what the spool does not take; {@code problem} is null if that hangs. */
    void notHeld(Throwable problem) {
        if (problem == null) {
            lost(hangs + ", and what may wait in memory does", new TimeoutException());
        } else {
            notSpooled(problem);
        }
    }

    private String whyNot(Throwable problem) {
        return problem instanceof SpoolFullException ? full : unwritable;
    }

    void spooled() {
        boolean calm = System.nanoTime() - lastTrouble > CALM_NANOS;
        if (calm && told.removeIf(why -> why.contains(spool))) {
            LOG.info("pysync: the spool {} takes events again; {} lost so far", settings.spoolDir, lost);
        }
    }

    /** Its file is kept and named in the log; at least one event of it is missing. From any thread. */
    void damaged() {
        lost.incrementAndGet();
    }

    /** One event less. */
    void lost(String why, Throwable problem) {
        lost.incrementAndGet();
        lastTrouble = System.nanoTime();
        if (told.add(why)) {
            LOG.error("pysync: {} ({}): events are lost, {} so far: run pysync verify",
                    why, problem.getClass().getSimpleName(), lost);
        }
    }
}
