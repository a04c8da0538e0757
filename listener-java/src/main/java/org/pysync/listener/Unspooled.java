package org.pysync.listener;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The events that are not in the spool yet, in their order: on their way into it, or held in memory because it does not
 * take them.
 *
 * <p>Promise: bounded as soon as nobody takes them; who waits for the spool waits no longer than he says, and once: while it
 * hangs, nobody else does. With the lock of the {@link Outbox}, all of it, but where it says otherwise.
 */
final class Unspooled {
    private static final int MOST_HELD = 256;

    private final ReentrantLock lock;
    private final Notices notices;
    private final long mostHeldBytes;
    private final Condition arrived;
    private final Deque<Pending> pending = new ArrayDeque<>();
    private long bytes;
    private long settledSoFar;
    /** Why the spool does not take the first one, until that is worth another attempt. */
    private Throwable refusal;
    /** Those that are here have been held: the spool refused one while the sidecar took events, or hung. */
    private boolean held;
    private boolean spoolHangs;

    /** {@code mostHeldBytes} is what may wait here while nobody takes it. */
    Unspooled(ReentrantLock lock, Notices notices, long mostHeldBytes) {
        this.lock = lock;
        this.notices = notices;
        this.mostHeldBytes = mostHeldBytes;
        this.arrived = lock.newCondition();
    }

    /** One of them, and what its caller waits for. */
    static final class Pending {
        final byte[] event;
        private final Condition settled;
        private boolean isSettled;
        private boolean isLost;

        private Pending(byte[] event, Condition settled) {
            this.event = event;
            this.settled = settled;
        }

        boolean isLost() {
            return isLost;
        }
    }

    /** One more; null if there is no room, which counts as a loss. */
    Pending add(byte[] event, boolean flowing) {
        boolean nobodyTakesIt = spoolHangs || refusal != null && !flowing;
        if (nobodyTakesIt && (pending.size() >= MOST_HELD || bytes + event.length > mostHeldBytes)) {
            notices.notHeld(refusal);
            return null;
        }
        Pending added = new Pending(event, lock.newCondition());
        pending.addLast(added);
        bytes += event.length;
        arrived.signal();
        return added;
    }

    /** The next one for the spool; waits for it. Takes the lock itself. */
    Pending next() throws InterruptedException {
        lock.lock();
        try {
            while (refusal != null || pending.isEmpty()) {
                arrived.await();
            }
            return pending.getFirst();
        } finally {
            lock.unlock();
        }
    }

    /** The first one is in the spool. */
    void isWritten() {
        spoolHangs = false;
        notices.spooled();
        settleFirst();
    }

    /** The first one is not: lost, unless the sidecar takes events, or it was held till now. */
    void isNotWritten(Throwable problem, boolean flowing) {
        held |= flowing || spoolHangs;
        spoolHangs = false;
        if (held) {
            refusal = problem;
            notices.held(problem);
            pending.forEach(each -> each.settled.signalAll());
        } else {
            pending.getFirst().isLost = true;
            notices.notSpooled(problem);
            settleFirst();
        }
    }

    /** The first one is in the spool, with the sidecar, or lost. */
    void settleFirst() {
        Pending first = pending.removeFirst();
        first.isSettled = true;
        first.settled.signalAll();
        bytes -= first.event.length;
        settledSoFar++;
        if (pending.isEmpty()) {
            held = false;
            refusal = null;
        }
    }

    /** The spool may be asked again. */
    void tryAgain() {
        refusal = null;
        arrived.signal();
    }

    /** The oldest of those that the spool does not take, a megabyte or so; none if it takes them. */
    List<byte[]> firstHeld() {
        List<byte[]> events = new ArrayList<>();
        long some = 0;
        for (Pending each : pending) {
            if (refusal != null && some < SpoolFile.ENOUGH) {
                events.add(each.event);
                some += each.event.length;
            }
        }
        return events;
    }

    /** Whether the spool has it, once that is so or not worth waiting for. */
    boolean isWrittenInTime(Pending one, long end) {
        while (!one.isSettled && !isHeld() && !spoolHangs) {
            if (!isSignalled(one.settled, end) && !one.isSettled) {
                spoolHangs = true;
                notices.spoolHangs();
                pending.forEach(each -> each.settled.signalAll());
            }
        }
        return one.isSettled;
    }

    /** Whether it came before the time was up, or an interrupt: it means another, and will not be long. */
    static boolean isSignalled(Condition condition, long end) {
        boolean interrupted = Thread.interrupted();
        try {
            return condition.awaitNanos(end - System.nanoTime()) > 0;
        } catch (InterruptedException e) {
            interrupted = true;
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Whether they wait for the sidecar. */
    boolean isHeld() {
        return refusal != null;
    }

    boolean isEmpty() {
        return pending.isEmpty();
    }

    /** The newest, or null. */
    Pending last() {
        return pending.peekLast();
    }

    long bytes() {
        return bytes;
    }

    /** How many have left so far. */
    long settledSoFar() {
        return settledSoFar;
    }
}
