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
    /** Somebody waits for the next report: {@code ok TICKET soon}. */
    private static final long SOON_MS = 50;
    private static final int LONGEST_TICKET = 64;
    private static final String HIVE_FIELD = ", \"hive\": " + quoted(HiveVersion.find());

    private final Sidecar sidecar;
    private final long deadlineMs;
    private final Callable<String> next;
    private final Presence presence;
    private final String source;
    /** What the sidecar answered last. The next report tells it, so the sidecar knows which report came after what. */
    private volatile String heard = "";

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
                String[] answer = sidecar.report(next.call(), deadlineMs).split(" ");
                heard = answer.length > 1 && answer[1].length() <= LONGEST_TICKET ? answer[1] : "";
                presence.tellOfDead(dead -> Sidecar.hasNoted(sidecar.report(ended(dead, source), deadlineMs)));
                Thread.sleep(answer.length > 2 ? SOON_MS : PERIOD_MS);
            } catch (Exception e) {
                // An interrupt of our own thread, which nobody means.
            }
        }
    }

    /** What was heard last: to be asked before the number that a report tells. */
    String heard() {
        return heard;
    }

    static String json(String instance, String source, long sequence, long lost, long waiting) {
        return "{" + common(instance, source, sequence, lost, waiting) + HIVE_FIELD + "}";
    }

    /** One of those that come every two seconds. */
    static String json(String instance, String source, long sequence, long lost, String heard) {
        return "{" + common(instance, source, sequence, lost, 0) + HIVE_FIELD + ", \"heard\": " + quoted(heard) + "}";
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
