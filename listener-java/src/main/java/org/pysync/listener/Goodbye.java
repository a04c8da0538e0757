package org.pysync.listener;

/**
 * The last word of a process that ends in order: no change is under way between its commit and our callback.
 *
 * <p>Promise: the end of the process waits no longer than two seconds and the deadline. While a handler of the
 * metastore still works, or where one has made a change lately, nothing is said: the sidecar then knows that something
 * may be missing. For the metastore takes calls until its process is gone, and one that begins after our last look may
 * commit and never come to its callback; where clients are at work that is not rare.
 */
final class Goodbye implements Runnable {
    private static final long LONGEST_MS = 2_000;
    /** Of these, what writing to the spool may take. */
    private static final long WRITING_MS = 250;
    private static final long LOOK_AGAIN_MS = 20;
    /** {@code HiveMetaStore$HMSHandler} to Hive 3.1, {@code HMSHandler} in 4.x, {@code RetryingHMSHandler} round them. */
    private static final String HANDLER = "HMSHandler";

    private final long deadlineMs;
    private final LastWord lastWord;

    /** What is said at the end, if anything. */
    interface LastWord {
        /** {@code quiet} if no handler of the metastore is at work any more. May take the deadline. */
        void say(boolean quiet);
    }

    private Goodbye(long deadlineMs, LastWord lastWord) {
        this.deadlineMs = deadlineMs;
        this.lastWord = lastWord;
    }

    /** Has the last word said at the end of the process. */
    static void atTheEnd(long deadlineMs, LastWord lastWord) {
        try {
            Goodbye goodbye = new Goodbye(deadlineMs, lastWord);
            Runtime.getRuntime().addShutdownHook(new Thread(goodbye, "pysync-goodbye"));
        } catch (IllegalStateException e) {
            // The process ends already: it has no good order to tell of.
        }
    }

    /** On a daemon thread, because a disk may take any time. */
    @Override
    public void run() {
        Thread talker = Bridge.daemon(() -> lastWord.say(getsQuiet()), "pysync-goodbye-talker");
        talker.start();
        try {
            talker.join(LONGEST_MS + deadlineMs);
        } catch (InterruptedException e) {
            // Then the process is in a hurry.
        }
    }

    private static boolean getsQuiet() {
        long end = System.nanoTime() + (LONGEST_MS - WRITING_MS) * 1_000_000;
        while (!isQuiet()) {
            if (System.nanoTime() - end > 0) {
                return false;
            }
            try {
                Thread.sleep(LOOK_AGAIN_MS);
            } catch (InterruptedException e) {
                return false;
            }
        }
        return true;
    }

    private static boolean isQuiet() {
        for (StackTraceElement[] stack : Thread.getAllStackTraces().values()) {
            for (StackTraceElement frame : stack) {
                if (frame.getClassName().endsWith(HANDLER)) {
                    return false;
                }
            }
        }
        return true;
    }
}
