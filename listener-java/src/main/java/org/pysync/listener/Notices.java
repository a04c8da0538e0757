package org.pysync.listener;

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

    /** A spool that is nearly full takes some events and others not: that is one trouble, not many. */
    private static final long CALM_NANOS = 1_000_000_000;

    private final Settings settings;
    private final String full;
    private final String unwritable;
    private final Set<String> told = new HashSet<>();
    private long lost;
    private long lastLoss;

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
        LOG.info("pysync: the sidecar at {} takes events; {} delivered from the spool since the start, {} lost",
                settings.address(), delivered, lost);
    }

    void cannotOpen(Exception problem) {
        LOG.error("pysync: the spool directory {} cannot be used ({}); events are lost while the sidecar is "
                + "away: give it to the user of the metastore", settings.spoolDir, problem.getClass().getSimpleName());
    }

    void cannotMark(Exception problem) {
        LOG.error("pysync: no marker of this process can be kept in {} ({}): if it is killed before its first event is "
                + "delivered or spooled, nobody hears of that", settings.spoolDir, problem.getClass().getSimpleName());
    }

    void notSpooled(Throwable problem) {
        lost(problem instanceof SpoolFullException ? full : unwritable, problem);
    }

    void spooled() {
        boolean calm = System.nanoTime() - lastLoss > CALM_NANOS;
        if (calm && (told.remove(full) | told.remove(unwritable))) {
            LOG.info("pysync: events wait in the spool {} again; {} lost so far", settings.spoolDir, lost);
        }
    }

    /** Its file is kept and named in the log; at least one event of it is missing. */
    void damaged() {
        lost++;
    }

    /** One event less. */
    void lost(String why, Throwable problem) {
        lost++;
        lastLoss = System.nanoTime();
        if (told.add(why)) {
            LOG.error("pysync: {} ({}): events are lost, {} so far: run pysync verify",
                    why, problem.getClass().getSimpleName(), lost);
        }
    }
}
