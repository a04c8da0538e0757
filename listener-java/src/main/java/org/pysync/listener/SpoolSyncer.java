package org.pysync.listener;

import java.io.IOException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Brings the spool to disk (fsync) when it is asked to, for all who have asked meanwhile at once.
 *
 * <p>Promise: whatever a disk does, nobody but this thread hangs on it, and others wait for it once.
 */
final class SpoolSyncer implements Runnable {
    private final Spool spool;
    /** The outbox's; guards everything below. */
    private final ReentrantLock lock;
    private final Condition asked;
    private final Condition settled;
    private long tickets;
    private long done;
    private long failed;
    private boolean hangs;

    SpoolSyncer(Spool spool, ReentrantLock lock) {
        this.spool = spool;
        this.lock = lock;
        this.asked = lock.newCondition();
        this.settled = lock.newCondition();
    }

    /** What is in the spool now is to be on disk. With the lock. */
    long ask() {
        asked.signal();
        return ++tickets;
    }

    /** Whether it is, once that is so or the time is up; nobody waits for a disk that hangs already. With the lock. */
    boolean isDoneInTime(long ticket, long end) {
        while (done < ticket && failed < ticket && !hangs) {
            hangs = !Unspooled.isSignalled(settled, end) && done < ticket && failed < ticket;
        }
        return done >= ticket;
    }

    @Override
    public void run() {
        while (true) {
            try {
                long ticket = next();
                settle(ticket, isOnDisk());
            } catch (Throwable goesOn) {
                // See SpoolWriter.
            }
        }
    }

    private long next() throws InterruptedException {
        lock.lock();
        try {
            while (tickets <= Math.max(done, failed)) {
                asked.await();
            }
            return tickets;
        } finally {
            lock.unlock();
        }
    }

    private void settle(long ticket, boolean onDisk) {
        lock.lock();
        try {
            hangs = false;
            done = onDisk ? ticket : done;
            failed = onDisk ? failed : ticket;
            settled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private boolean isOnDisk() {
        boolean all = true;
        for (SpoolFile file : spool.notOnDisk()) {
            try {
                file.sync();
            } catch (IOException e) {
                all &= !spool.has(file); // or it is delivered meanwhile, and closed
            }
        }
        return all;
    }
}
