package org.pysync.listener;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The events on their way: any thread adds some, the {@link Shipper} takes them out in the same order.
 *
 * <p>They lie in the spool, so that they outlive the process. What the spool does not take while the sidecar takes
 * events is held in memory, behind what is in the spool, and whoever brought it waits until it is delivered.
 *
 * <p>Promise: who adds an event waits for the sidecar no longer than the deadline, and once: after a failure nobody
 * waits until it has taken all there is.
 */
final class Outbox {
    /** Calls begin so far apart, unless somebody waits: each costs both sides more than the events in it. */
    private static final long APART_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** So many events are worth a call at once. */
    static final int TOGETHER = 256;
    /** For a moment of trouble: else there is a waiting thread for each. */
    private static final int MOST_HELD = 256;

    private final Spool spool;
    private final Notices notices;
    private final boolean synchronous;
    private final long deadlineNanos;

    /** Guards everything below, and the spool and the notices. */
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();
    private final Condition settled = lock.newCondition();
    private final Deque<byte[]> held = new ArrayDeque<>();
    private Throwable whyHeld;
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

    Outbox(Spool spool, Notices notices, Settings settings) {
        this.spool = spool;
        this.notices = notices;
        this.synchronous = settings.synchronous;
        this.deadlineNanos = TimeUnit.MILLISECONDS.toNanos(settings.deadlineMs);
    }

    /** Takes over what earlier processes have left. */
    void open() {
        lock.lock();
        try {
            spool.open();
        } catch (Exception e) {
            notices.cannotOpen(e);
        } finally {
            lock.unlock();
        }
    }

    /** Whether the event is safe: in the spool, or with the sidecar; on a disk, if that is asked for. */
    boolean add(byte[] event) {
        SpoolFile file;
        lock.lock();
        try {
            file = spooled(event);
            if (file == null && held.peekLast() != event) {
                return false;
            }
            boolean waits = synchronous || file == null;
            long number = ++added;
            if (shipperIsIdle || number - delivered >= TOGETHER) {
                arrived.signal();
            }
            if (!waits || isDelivered(number)) {
                return true;
            }
        } finally {
            lock.unlock();
        }
        return file != null && isOnDisk(file);
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
            if (isDelivered(added)) {
                spool.removeEmpty();
                return true;
            }
        } catch (IOException e) {
            return true; // an empty file, which the next process removes
        } finally {
            lock.unlock();
        }
        return sync();
    }

    // For the shipper.

    /** The oldest events, up to as many; waits for some, and then a little for others that they may go with. */
    List<byte[]> take(int most) throws IOException, InterruptedException {
        lock.lock();
        try {
            gather();
            for (taken = oldest(most); taken.isEmpty(); taken = oldest(most)) {
                allIsDelivered();
                shipperIsIdle = true;
                arrived.await();
            }
            takenAt = System.nanoTime();
            return taken;
        } finally {
            shipperIsIdle = false;
            lock.unlock();
        }
    }

    /** The sidecar has what was taken. */
    void delivered() throws IOException {
        lock.lock();
        try {
            if (takenFromSpool) {
                spool.forgetFirst();
            } else {
                taken.forEach(event -> held.removeFirst());
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
            while (!held.isEmpty()) {
                spool.append(held.getFirst());
                held.removeFirst();
            }
        } catch (IOException | RuntimeException e) {
            notices.held(e);
        } finally {
            lock.unlock();
        }
    }

    /** Brings what is spooled to disk, so that it outlives a power cut; nobody waits for it. */
    boolean sync() {
        List<SpoolFile> files;
        lock.lock();
        try {
            files = spool.notOnDisk();
        } finally {
            lock.unlock();
        }
        boolean safe = true;
        for (SpoolFile file : files) {
            safe &= isOnDisk(file);
        }
        return safe;
    }

    // For reports.

    /** Waits until all that was added before is delivered. */
    void awaitDelivery() throws InterruptedException {
        lock.lock();
        try {
            long number = added;
            while (!flowing || delivered < number) {
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
            long inMemory = held.stream().mapToLong(event -> event.length).sum();
            return inMemory + (spool.isEmpty() ? 0 : spool.size());
        } finally {
            lock.unlock();
        }
    }

    /** The file that has the event now; null if it is held, or lost. */
    private SpoolFile spooled(byte[] event) {
        if (held.isEmpty()) {
            try {
                SpoolFile file = spool.append(event);
                notices.spooled();
                return file;
            } catch (Throwable problem) {
                whyHeld = problem;
            }
        }
        if (flowing || !held.isEmpty() && held.size() < MOST_HELD) {
            held.addLast(event);
            notices.held(whyHeld);
        } else {
            notices.notSpooled(whyHeld);
        }
        return null;
    }

    /** Waits until it is so, or is not worth waiting for. An interrupt changes nothing: it will not be long. */
    private boolean isDelivered(long number) {
        long end = System.nanoTime() + deadlineNanos;
        boolean interrupted = false;
        waiting++;
        arrived.signal();
        while (flowing && delivered < number) {
            try {
                if (settled.awaitNanos(end - System.nanoTime()) <= 0 && delivered < number) {
                    stopsFlowing("it does not answer in time");
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        waiting--;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return flowing && delivered >= number;
    }

    private boolean isOnDisk(SpoolFile file) {
        try {
            file.sync();
            return true;
        } catch (IOException e) {
            return false; // or it is delivered meanwhile, and closed
        }
    }

    private void gather() throws InterruptedException {
        long left = takenAt + APART_NANOS - System.nanoTime();
        while (flowing && waiting == 0 && added - delivered < TOGETHER && left > 0) {
            left = arrived.awaitNanos(left);
        }
    }

    private List<byte[]> oldest(int most) throws IOException {
        List<byte[]> events = spool.first(most);
        takenFromSpool = !events.isEmpty();
        return takenFromSpool ? events : new ArrayList<>(held);
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
