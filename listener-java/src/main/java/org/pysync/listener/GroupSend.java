package org.pysync.listener;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Group send: of many threads that bring an event one sends what all have brought, while those which come meanwhile
 * gather for the next. So the sidecar writes to its disk once for all of them.
 *
 * <p>Promise: one sending at a time, events in the order in which they came; nobody waits longer than the deadline and
 * what the carrier takes after it.
 */
final class GroupSend {
    private static final int MOST_EVENTS = 256;
    private static final long MOST_BYTES = 1 << 20;

    private final Carrier carrier;
    private final long deadlineNanos;
    private final Queue<Ticket> waiting = new ArrayDeque<>();
    private boolean busy;

    /** Who sends. */
    interface Carrier {
        /** Whether each of the events is safe. Does not throw, and waits for an answer no longer than the deadline. */
        boolean[] carry(List<byte[]> events, long deadlineMs);
    }

    GroupSend(Carrier carrier, long deadlineMs) {
        this.carrier = carrier;
        this.deadlineNanos = TimeUnit.MILLISECONDS.toNanos(deadlineMs);
    }

    /** Whether the event is safe now. */
    boolean send(byte[] event) {
        Ticket own = new Ticket(event, System.nanoTime() + deadlineNanos);
        synchronized (this) {
            waiting.add(own);
        }
        for (List<Ticket> batch = sentOrTurn(own); !batch.isEmpty(); batch = sentOrTurn(own)) {
            carry(batch);
        }
        return own.safe;
    }

    /** Waits until somebody has sent the event (then nothing), or it is the caller's turn to send these. */
    private synchronized List<Ticket> sentOrTurn(Ticket own) {
        boolean interrupted = false;
        while (busy && !own.done) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true; // whoever sends our event has it in hand, and not for long
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        busy |= !own.done;
        return own.done ? Collections.emptyList() : oldest();
    }

    private List<Ticket> oldest() {
        List<Ticket> batch = new ArrayList<>();
        long bytes = 0;
        while (!waiting.isEmpty() && batch.size() < MOST_EVENTS
                && (batch.isEmpty() || bytes + waiting.peek().event.length <= MOST_BYTES)) {
            bytes += waiting.peek().event.length;
            batch.add(waiting.remove());
        }
        return batch;
    }

    /** Nobody is left waiting, whatever happens; the deadline is that of whoever has waited longest. */
    private void carry(List<Ticket> batch) {
        boolean[] safe = new boolean[batch.size()];
        try {
            List<byte[]> events = new ArrayList<>();
            batch.forEach(ticket -> events.add(ticket.event));
            long left = TimeUnit.NANOSECONDS.toMillis(batch.get(0).end - System.nanoTime());
            safe = carrier.carry(events, Math.max(1, left));
        } finally {
            settle(batch, safe);
        }
    }

    private synchronized void settle(List<Ticket> batch, boolean[] safe) {
        for (int index = 0; index < safe.length; index++) {
            batch.get(index).safe = safe[index];
            batch.get(index).done = true;
        }
        busy = false;
        notifyAll();
    }

    /** An event on its way. */
    private static final class Ticket {
        private final byte[] event;
        private final long end;
        private boolean safe;
        private boolean done;

        private Ticket(byte[] event, long end) {
            this.event = event;
            this.end = end;
        }
    }
}
