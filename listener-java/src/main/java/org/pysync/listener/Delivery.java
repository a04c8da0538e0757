package org.pysync.listener;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The way of the events to the sidecar, one for each distinct settings in the process.
 *
 * <p>Promise: {@link #send} never throws, and holds its caller no longer than {@link Outbox} says. Every event takes one
 * sequence number, even one that is lost, so that the sidecar sees the gap; several listeners of one metastore number
 * it once.
 */
final class Delivery {
    private static final Map<Settings, Delivery> BY_SETTINGS = new ConcurrentHashMap<>();

    private static final long NEVER = Long.MIN_VALUE;
    /** A share of the metastore's heap, while its disk hangs and the sidecar is away. */
    private static final long MOST_HELD_BYTES = Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 32);

    private final Settings settings;
    private final String instance = UUID.randomUUID().toString();
    private final AtomicLong sequences = new AtomicLong();
    /** What this thread handed on last: a listener that is configured twice hears of the same object again. */
    private final ThreadLocal<WeakReference<Object>> latest = new ThreadLocal<>();
    /** When the metastore last told of a change, as {@link System#nanoTime} has it. */
    private volatile long changedAt = NEVER;
    private final Outbox outbox;
    private final Presence presence;
    private final Worker[] workers;
    private final Reporter reporter;

    /** An event that is serialised while its callback runs. */
    interface Draft {
        EventEncoder write() throws Exception;
    }

    private Delivery(Settings settings) {
        this.settings = settings;
        Notices notices = new Notices(settings);
        SpoolDirectory directory = new SpoolDirectory(settings.spoolDir, settings.source, instance);
        Spool spool = new Spool(directory, settings.spoolMaxBytes, notices::damaged);
        this.outbox = new Outbox(spool, notices, settings, MOST_HELD_BYTES);
        this.presence = new Presence(directory, notices::cannotMark);
        Shipper shipper = new Shipper(outbox, new Sidecar(new Bridge(settings)), settings, this::report);
        this.workers = new Worker[] {
            new Worker(new SpoolWriter(outbox, spool), "pysync-spool-writer"),
            new Worker(outbox.syncer, "pysync-spool-syncer"),
            new Worker(shipper, "pysync-spool"),
        };
        Sidecar told = new Sidecar(new Bridge(settings));
        this.reporter = new Reporter(told, settings, presence, this::reportWhenDelivered);
    }

    static Delivery of(Settings settings) {
        return BY_SETTINGS.computeIfAbsent(settings, Delivery::start);
    }

    private static Delivery start(Settings settings) {
        Delivery delivery = new Delivery(settings);
        delivery.keepWorking();
        delivery.presence.begin(settings.deadlineMs);
        Bridge.daemon(delivery.reporter, "pysync-report").start();
        Goodbye.atTheEnd(settings.deadlineMs, delivery::end);
        return delivery;
    }

    /** {@code change} is the object that the metastore hands to each of its listeners in turn. */
    void send(Object change, Draft draft) {
        changedAt = System.nanoTime();
        WeakReference<Object> last = latest.get();
        if (last == null || last.get() != change) {
            latest.set(new WeakReference<>(change));
            send(draft);
        }
    }

    /** The process ends; {@code quiet} if no handler of the metastore is at work. */
    private void end(boolean quiet) {
        boolean said = quiet && isIdle() && send(EventEncoder::goodbye);
        if (outbox.flush() && said) {
            presence.leave();
        }
    }

    /** Whether nothing has changed for so long that nobody seems to be at work. */
    private boolean isIdle() {
        long since = (System.nanoTime() - changedAt) / 1_000_000;
        return changedAt == NEVER || since >= settings.idleMs;
    }

    /** Whether the event is safe, see {@link Outbox#add}. */
    private boolean send(Draft draft) {
        long sequence = sequences.incrementAndGet();
        try {
            byte[] event = draft.write().encode(settings.source, instance, sequence);
            if (event.length > SpoolRecord.LONGEST) {
                throw new IllegalArgumentException("longer than " + SpoolRecord.LONGEST + " bytes");
            }
            keepWorking();
            return outbox.add(event);
        } catch (Throwable problem) {
            outbox.lose("an event cannot be written, or is longer than may be and not of one table", problem);
            return false;
        }
    }

    private void keepWorking() {
        for (Worker worker : workers) {
            worker.keepRunning();
        }
    }

    private String report() {
        return Reporter.json(instance, settings.source, sequences.get(), outbox.lost(), outbox.size());
    }

    /** How far we are, once all that is delivered. */
    private String reportWhenDelivered() throws InterruptedException {
        String heard = reporter.heard(); // before the number: what changed before we heard it is in that
        long sequence = sequences.get();
        outbox.awaitDelivery();
        return Reporter.json(instance, settings.source, sequence, outbox.lost(), heard);
    }
}
