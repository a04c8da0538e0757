package org.pysync.listener;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The events on their way: any thread adds some, the {@link SpoolWriter} brings them into the spool, so that they outlive
 * the process, and the {@link Shipper} takes them out in the same order.
 *
 * <p>What the spool does not take while the sidecar takes events is held in memory, behind what is in the spool, and
 * whoever brought it waits until it is delivered. What comes while the spool hangs is held, too, up to a bound.
 *
 * <p>Promise: who adds an event waits no longer than the deadline, whatever hangs, and once: after a failure nobody
 * waits for the sidecar until it has taken all there is, nor for the disk until that has done something.
 */
final class Outbox {
    /** Calls begin so far apart, unless somebody waits: each costs both sides more than the events in it. */
    private static final long APART_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** So many events are worth a call at once. */
    static final int TOGETHER = 256;
    private final Spool spool;
    private final Notices notices;
    private final boolean synchronous;
    private final long deadlineNanos;

    /** Guards everything below, and the notices; never held while a disk is asked for anything. */
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();
    private final Condition settled = lock.newCondition();
    final Unspooled unspooled;
    final SpoolSyncer syncer;
    private boolean spoolIsOpen;
    /** The shipper has them in hand. */
    private List<byte[]> taken = Collections.emptyList();
    private boolean takenFromSpool;
    private long takenAt = System.nanoTime() - APART_NANOS;
    /** The sidecar has taken all there was, and nothing has failed since. */
    private boolean flowing;
    private boolean shipperIsIdle;
    private int waiting;
    /** Our own events so far, and those of them that are delivered: while they flow, else others are among these. */
    private long added;
    private long delivered;
    private long deliveredInAll;

    /** {@code mostHeldBytes} is what may wait in memory while neither the spool nor the sidecar takes it. */
    Outbox(Spool spool, Notices notices, Settings settings, long mostHeldBytes) {
        this.spool = spool;
        this.syncer = new SpoolSyncer(spool, lock);
        this.notices = notices;
        this.synchronous = settings.synchronous;
        this.deadlineNanos = TimeUnit.MILLISECONDS.toNanos(settings.deadlineMs);
        this.unspooled = new Unspooled(lock, notices, mostHeldBytes);
    }

    /** Whether the event is safe: in the spool, or with the sidecar; on a disk, if that is asked for. */
    boolean add(byte[] event) {
        lock.lock();
        try {
            Unspooled.Pending mine = unspooled.add(event, flowing);
            return mine != null && isSafeInTime(mine, ++added, synchronous) && !mine.isLost();
        } finally {
            lock.unlock();
        }
    }

    /** An event less, of those that have a number. */
    void lose(String why, Throwable problem) {
        lock.lock();
        try {
            notices.lost(why, problem);
        } finally {
            lock.unlock();
        }
    }

    /** Whether everything is safe, with the sidecar or on disk: for the end of the process. Waits for the deadline. */
    boolean flush() {
        lock.lock();
        try {
            if (!isSafeInTime(unspooled.last(), added, true)) {
                return false;
            }
            if (!isDelivered(added)) {
                return true;
            }
        } finally {
            lock.unlock();
        }
        spool.removeEmpty();
        return true;
    }

    /** Has what is spooled brought to disk, so that it outlives a power cut; nobody waits for it. */
    void sync() {
        lock.lock();
        try {
            syncer.ask();
        } finally {
            lock.unlock();
        }
    }

    // For the writer.

    /** Takes over what earlier processes have left. */
    void open() {
        Exception problem = null;
        try {
            spool.open();
        } catch (IOException | RuntimeException e) {
            problem = e;
        }
        lock.lock();
        try {
            if (problem != null) {
                notices.cannotOpen(problem);
            }
            spoolIsOpen = true;
            arrived.signal();
        } finally {
            lock.unlock();
        }
    }

    /** The first that was not in the spool is in it, or there was a problem. */
    void written(Throwable problem) {
        lock.lock();
        try {
            if (problem == null) {
                unspooled.isWritten();
            } else {
                unspooled.isNotWritten(problem, flowing);
            }
            if (shipperIsIdle || waiting > 0 || added - delivered >= TOGETHER) {
                arrived.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    // For the shipper.

    /** The oldest events, up to as many; waits for some, and then a little for others that they may go with. */
    List<byte[]> take(int most) throws IOException, InterruptedException {
        long before = gather();
        while (!isTaken(spool.first(most), before)) {
            before = settledSoFar();
        }
        return taken;
    }

    /** The sidecar has what was taken. */
    void delivered() throws IOException {
        if (takenFromSpool) {
            spool.forgetFirst();
        }
        lock.lock();
        try {
            if (!takenFromSpool) {
                taken.forEach(event -> unspooled.settleFirst());
            }
            delivered += taken.size();
            deliveredInAll += taken.size();
            settled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The sidecar does not take them: what is held gets another chance to be safe. */
    void refused(String trouble) {
        lock.lock();
        try {
            stopsFlowing(trouble);
            unspooled.tryAgain();
        } finally {
            lock.unlock();
        }
    }

    // For reports.

    /** Waits until all that was added before is delivered. */
    void awaitDelivery() throws InterruptedException {
        lock.lock();
        try {
            long number = added;
            while (!isDelivered(number)) {
                settled.await();
            }
        } finally {
            lock.unlock();
        }
    }

    long lost() {
        lock.lock();
        try {
            return notices.lost();
        } finally {
            lock.unlock();
        }
    }

    /** The bytes that undelivered events take. */
    long size() {
        lock.lock();
        try {
            return unspooled.bytes() + spool.waitingBytes();
        } finally {
            lock.unlock();
        }
    }

    /** Whether it is, once that is so or not worth waiting for; {@code mine} is null if it has been written. */
    private boolean isSafeInTime(Unspooled.Pending mine, long number, boolean disk) {
        long end = System.nanoTime() + deadlineNanos;
        boolean written = mine == null || unspooled.isWrittenInTime(mine, end);
        if (written && !disk || !written && !unspooled.isHeld()) {
            return written;
        }
        if (isDeliveredInTime(number, end - deadlineNanos / 2)) {
            return true;
        }
        long ticket = syncer.ask(); // in time for the deadline, should the sidecar miss that
        if (!isDeliveredInTime(number, end) && flowing) {
            stopsFlowing("it does not answer in time");
        }
        return isDelivered(number) || written && syncer.isDoneInTime(ticket, end);
    }

    private boolean isDeliveredInTime(long number, long end) {
        waiting++;
        arrived.signal();
        boolean inTime = true;
        while (inTime && flowing && delivered < number) {
            inTime = Unspooled.isSignalled(settled, end);
        }
        waiting--;
        return isDelivered(number);
    }

    private boolean isDelivered(long number) {
        return flowing && delivered >= number;
    }

    /** How many were settled then. */
    private long gather() throws InterruptedException {
        lock.lock();
        try {
            long left = takenAt + APART_NANOS - System.nanoTime();
            while (flowing && waiting == 0 && added - delivered < TOGETHER && left > 0) {
                left = arrived.awaitNanos(left);
            }
            return unspooled.settledSoFar();
        } finally {
            lock.unlock();
        }
    }

    private long settledSoFar() {
        lock.lock();
        try {
            return unspooled.settledSoFar();
        } finally {
            lock.unlock();
        }
    }

    /** What the spool gave, or what is held where it gave nothing. Waits if there is neither. */
    private boolean isTaken(List<byte[]> spooled, long before) throws InterruptedException {
        lock.lock();
        try {
            boolean isAll = spooled.isEmpty() && unspooled.settledSoFar() == before;
            takenFromSpool = !spooled.isEmpty();
            taken = isAll ? unspooled.firstHeld() : spooled;
            if (taken.isEmpty() && isAll) {
                if (spoolIsOpen && unspooled.isEmpty()) {
                    allIsDelivered();
                }
                shipperIsIdle = true;
                arrived.await();
            }
            takenAt = System.nanoTime();
            return !taken.isEmpty();
        } finally {
            shipperIsIdle = false;
            lock.unlock();
        }
    }

    private void allIsDelivered() {
        delivered = added;
        settled.signalAll();
        if (!flowing) {
            flowing = true;
            notices.sidecarTakesEvents(deliveredInAll);
        }
    }

    private void stopsFlowing(String trouble) {
        flowing = false;
        settled.signalAll();
        notices.sidecarTakesNone(trouble);
    }
}
