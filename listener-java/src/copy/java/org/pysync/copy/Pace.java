package org.pysync.copy;

import java.io.InterruptedIOException;

/** Keeps a copy below a rate. */
final class Pace {
    private final long perSecond;
    private final long began = System.nanoTime();
    private long bytes;

    /** So many bytes a second; 0 is no limit. */
    Pace(long perSecond) {
        this.perSecond = perSecond;
    }

    /** Note that so many bytes more went through, and wait if that was too soon; for any thread. */
    void after(int more) throws InterruptedIOException {
        if (perSecond == 0) {
            return;
        }
        long due = (long) (counted(more) * 1e9 / perSecond) - (System.nanoTime() - began);
        try {
            if (due > 0) {
                Thread.sleep(due / 1_000_000, (int) (due % 1_000_000));
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the copy was ended");
        }
    }

    private synchronized long counted(int more) {
        bytes += more;
        return bytes;
    }
}
