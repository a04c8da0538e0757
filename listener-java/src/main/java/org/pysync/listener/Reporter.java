package org.pysync.listener;

import java.util.concurrent.Callable;

/**
 * Tells the sidecar every two seconds how far we are, so that it notices what it has not got; and, until it has noted
 * them, which earlier processes ended without a goodbye.
 *
 * <p>Promise: one daemon thread, one call at a time; a report that fails changes nothing.
 */
final class Reporter implements Runnable {
    private static final long PERIOD_MS = 2_000;

    private final Sidecar sidecar;
    private final long deadlineMs;
    private final Callable<String> next;
    private final Presence presence;
    private final String source;

    /** {@code next} gives the report, and waits until one may be sent: what the spool held is then delivered. */
    Reporter(Sidecar sidecar, Settings settings, Presence presence, Callable<String> next) {
        this.sidecar = sidecar;
        this.deadlineMs = settings.deadlineMs;
        this.source = settings.source;
        this.presence = presence;
        this.next = next;
    }

    @Override
    public void run() {
        while (true) {
            try {
                sidecar.report(next.call(), deadlineMs);
                presence.tellOfDead(dead -> sidecar.report(ended(dead, source), deadlineMs));
                Thread.sleep(PERIOD_MS);
            } catch (Exception e) {
                // An interrupt of our own thread, which nobody means.
            }
        }
    }

    static String json(String instance, String source, long sequence, long lost, long waiting) {
        return "{" + common(instance, source, sequence, lost, waiting) + "}";
    }

    /** Of a process that is dead: how far it was, nobody knows any more. */
    private static String ended(String instance, String source) {
        return "{" + common(instance, source, 0, 0, 0) + ", \"ended\": true}";
    }

    private static String common(String instance, String source, long sequence, long lost, long waiting) {
        return "\"instance\": " + quoted(instance) + ", \"source\": " + quoted(source) + ", \"sequence\": " + sequence
                + ", \"lost\": " + lost + ", \"waiting\": " + waiting + ", \"now\": " + System.currentTimeMillis();
    }

    /** A JSON string of ASCII alone. */
    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') {
                quoted.append('\\').append(one);
            } else if (one < ' ' || one > '~') {
                quoted.append(String.format("\\u%04x", (int) one));
            } else {
                quoted.append(one);
            }
        }
        return quoted.append('"').toString();
    }
}
