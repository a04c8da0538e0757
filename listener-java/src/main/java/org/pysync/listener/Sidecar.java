package org.pysync.listener;

import java.util.List;

/**
 * What the sidecar's answers mean.
 *
 * <p>Promise: never throws; a call returns within the deadline given. Trouble is told in our own words, never
 * in py4j's, which hold the payload. Not for several threads at once.
 */
final class Sidecar {
    private static final String QUEUED = "queued";
    private static final String UNREADABLE = "unreadable";
    private static final String NOTED = "ok";
    private static final String PONG = "pysync 1";

    private final Bridge bridge;

    Sidecar(Bridge bridge) {
        this.bridge = bridge;
    }

    /** Null if the sidecar has the events, or what is the matter: then it may have some of them. */
    String offer(List<byte[]> events, long deadlineMs) {
        try {
            String answer = bridge.append(events, deadlineMs);
            boolean taken = QUEUED.equals(answer) || UNREADABLE.equals(answer);
            return taken ? null : troubleOf(answer);
        } catch (Throwable problem) {
            return troubleOf(problem);
        }
    }

    /** Null if it is there, or what is the matter; for a thread of our own, see {@link Bridge#connect}. */
    String ping(long deadlineMs) {
        try {
            bridge.connect(deadlineMs);
            return PONG.equals(bridge.ping(deadlineMs)) ? null : "what listens there is not a pysync of version 1";
        } catch (Throwable problem) {
            return troubleOf(problem);
        }
    }

    /** Its answer; empty if there was none. An older sidecar's error is not worth a line every two seconds. */
    String report(String json, long deadlineMs) {
        try {
            bridge.connect(deadlineMs);
            String answer = bridge.report(json, deadlineMs);
            return answer == null ? "" : answer;
        } catch (Throwable anEventTellsMoreOfTrouble) {
            return "";
        }
    }

    /** Whether it has noted a report, by its answer. */
    static boolean hasNoted(String answer) {
        return NOTED.equals(answer);
    }

    private static String troubleOf(Throwable problem) {
        if (problem instanceof BridgeException) {
            return problem.getMessage();
        }
        return "the call failed (" + problem.getClass().getSimpleName() + ")";
    }

    private static String troubleOf(String answer) {
        switch (answer) {
            case "full":
                return "its disk is full: make room there";
            case "failed":
                return "it cannot write its queue: see its log";
            case "unsupported":
                return "it is too old for this listener: upgrade it";
            default:
                return "its answer is none that this listener knows";
        }
    }
}
