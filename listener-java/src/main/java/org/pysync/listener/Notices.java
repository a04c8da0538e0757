package org.pysync.listener;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
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
    private final String full;
    private final String unwritable;
    private final Set<String> told = new HashSet<>();
    private long lost;
    private long lastTrouble;

    Notices(Settings settings) {
        this.settings = settings;
        this.full = "the spool " + settings.spoolDir + " is full (pysync.spool.max.bytes = "
                + settings.spoolMaxBytes + ")";
        this.unwritable = "the spool " + settings.spoolDir + " cannot be written";
    }

    long lost() {
        return lost;
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

    private String whyNot(Throwable problem) {
        return problem instanceof SpoolFullException ? full : unwritable;
    }

    void spooled() {
        boolean calm = System.nanoTime() - lastTrouble > CALM_NANOS;
        if (calm && told.removeAll(Arrays.asList(full, unwritable, HELD + full, HELD + unwritable))) {
            LOG.info("pysync: the spool {} takes events again; {} lost so far", settings.spoolDir, lost);
        }
    }

    /** Its file is kept and named in the log; at least one event of it is missing. */
    void damaged() {
        lost++;
    }

    /** One event less. */
    void lost(String why, Throwable problem) {
        lost++;
        lastTrouble = System.nanoTime();
        if (told.add(why)) {
            LOG.error("pysync: {} ({}): events are lost, {} so far: run pysync verify",
                    why, problem.getClass().getSimpleName(), lost);
        }
    }
}
