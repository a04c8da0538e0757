package org.pysync.listener;

/**
 * Brings events into the spool, in their order: the only one that waits for its disk to do so.
 *
 * <p>Promise: whatever a disk does, nobody but this thread hangs on it.
 */
final class SpoolWriter implements Runnable {
    private final Outbox outbox;
    private final Spool spool;

    SpoolWriter(Outbox outbox, Spool spool) {
        this.outbox = outbox;
        this.spool = spool;
    }

    @Override
    public void run() {
        outbox.open();
        while (true) {
            try {
                outbox.written(problemWith(outbox.unspooled.next().event));
            } catch (Throwable goesOn) {
                // Our own thread, which nobody means to stop; or there was no memory to say what is the matter.
            }
        }
    }

    private Throwable problemWith(byte[] event) {
        try {
            spool.append(event);
            return null;
        } catch (Throwable problem) {
            return problem;
        }
    }
}
