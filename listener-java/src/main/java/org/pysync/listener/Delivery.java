package org.pysync.listener;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The way of the events to the sidecar, one for each distinct settings in the process.
 *
 * <p>Promise: {@link #send} never throws and holds its caller no longer than the deadline, once: after a
 * failure all events go to the spool without waiting, until one daemon thread has delivered the spool in order
 * and found it empty. Events never overtake those in the spool. Every event takes one sequence number, even
 * one that is lost, so that the sidecar sees the gap; several listeners of one metastore number it once.
 */
final class Delivery {
    private static final Map<Settings, Delivery> BY_SETTINGS = new ConcurrentHashMap<>();

    private static final long FIRST_PAUSE_MS = 100;
    private static final long LAST_PAUSE_MS = 2_000;
    /** Nobody waits for the spool; a sidecar slower than the deadline must not starve it. */
    private static final int PATIENCE_MS = 5_000;
    /** Events of the spool in one call. */
    private static final int TOGETHER = 256;
    private static final long NEVER = Long.MIN_VALUE;

    private final Settings settings;
    private final String instance = UUID.randomUUID().toString();
    private final AtomicLong sequences = new AtomicLong();
    /** What this thread handed on last: a listener that is configured twice hears of the same object again. */
    private final ThreadLocal<WeakReference<Object>> latest = new ThreadLocal<>();
    /** When the metastore last told of a change, as {@link System#nanoTime} has it. */
    private volatile long changedAt = NEVER;
    private final int patienceMs;
    private final GroupSend group;
    /** Of the drainer while it runs, else of whoever sends for the group. */
    private final Sidecar sidecar;
    private final Presence presence;

    /** Guards everything below: the switch and the appends are one. */
    private final Object lock = new Object();
    private final Notices notices;
    private final Spool spool;
    private boolean direct;
    private Thread drainer;
    private long delivered;

    /** An event that is serialised while its callback runs. */
    interface Draft {
        EventEncoder write() throws Exception;
    }

    private Delivery(Settings settings) {
        this.settings = settings;
        this.patienceMs = Math.max(PATIENCE_MS, settings.deadlineMs);
        this.group = new GroupSend(this::carry, settings.deadlineMs);
        this.sidecar = new Sidecar(new Bridge(settings));
        this.notices = new Notices(settings);
        SpoolDirectory directory = new SpoolDirectory(settings.spoolDir, settings.source, instance);
        this.spool = new Spool(directory, settings.spoolMaxBytes, notices::damaged);
        this.presence = new Presence(directory, notices::cannotMark);
    }

    static Delivery of(Settings settings) {
        return BY_SETTINGS.computeIfAbsent(settings, Delivery::start);
    }

    /** Starts as if the sidecar were away: the drainer looks for it, and for what earlier processes left. */
    private static Delivery start(Settings settings) {
        Delivery delivery = new Delivery(settings);
        synchronized (delivery.lock) {
            try {
                delivery.spool.open();
            } catch (Exception e) {
                delivery.notices.cannotOpen(e);
            }
            delivery.keepDraining();
        }
        delivery.presence.begin(settings.deadlineMs);
        Sidecar told = new Sidecar(new Bridge(settings));
        Reporter reporter = new Reporter(told, settings, delivery.presence, delivery::reportWhenDirect);
        Bridge.daemon(reporter, "pysync-report").start();
        Goodbye.atTheEnd(settings.deadlineMs, delivery::isIdle, delivery::sayGoodbye);
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

    /** Whether nothing has changed for so long that nobody seems to be at work. */
    private boolean isIdle() {
        long since = (System.nanoTime() - changedAt) / 1_000_000;
        return changedAt == NEVER || since >= settings.idleMs;
    }

    private void sayGoodbye() {
        if (send(EventEncoder::goodbye)) {
            presence.leave();
        }
    }

    /** Whether the event is safe: with the sidecar, or on disk. */
    private boolean send(Draft draft) {
        long sequence = sequences.incrementAndGet();
        try {
            byte[] event = draft.write().encode(settings.source, instance, sequence);
            if (event.length > SpoolRecord.LONGEST) {
                throw new IllegalArgumentException("longer than " + SpoolRecord.LONGEST + " bytes");
            }
            return group.send(event);
        } catch (Throwable problem) {
            lose("an event cannot be written, or is longer than " + SpoolRecord.LONGEST + " bytes", problem);
            return false;
        }
    }

    /** Whether each is with the sidecar, or in the spool. Only one thread at a time comes here, see {@link GroupSend}. */
    private boolean[] carry(List<byte[]> events, long deadlineMs) {
        synchronized (lock) {
            if (!direct) {
                return append(events);
            }
        }
        String trouble = sidecar.offer(events, deadlineMs);
        if (trouble != null) {
            return startSpooling(events, trouble);
        }
        boolean[] safe = new boolean[events.size()];
        Arrays.fill(safe, true);
        return safe;
    }

    private boolean[] startSpooling(List<byte[]> events, String trouble) {
        synchronized (lock) {
            direct = false;
            notices.sidecarTakesNone(trouble);
            return append(events);
        }
    }

    private boolean[] append(List<byte[]> events) {
        boolean[] safe = new boolean[events.size()];
        for (int index = 0; index < safe.length; index++) {
            safe[index] = append(events.get(index));
        }
        keepDraining();
        return safe;
    }

    private boolean append(byte[] event) {
        boolean safe = false;
        try {
            spool.append(event);
            safe = true;
            notices.spooled();
        } catch (Throwable problem) {
            notices.notSpooled(problem);
        }
        return safe;
    }

    /** Starts the drainer if none runs; it may have died of an Error. */
    private void keepDraining() {
        if (drainer == null || !drainer.isAlive()) {
            drainer = Bridge.daemon(this::drain, "pysync-spool");
            drainer.start();
        }
    }

    private void drain() {
        long pause = FIRST_PAUSE_MS;
        while (isDraining()) {
            long before = delivered;
            try {
                drainWhileTaken();
            } catch (Throwable problem) {
                tell("the spool cannot be delivered (" + problem.getClass().getSimpleName() + ")");
            }
            pause = delivered > before ? FIRST_PAUSE_MS : Math.min(2 * pause, LAST_PAUSE_MS);
            sleep(pause);
        }
    }

    private boolean isDraining() {
        synchronized (lock) {
            return drainer == Thread.currentThread();
        }
    }

    /** The first event alone: where it is the one that is refused, those behind it are not sent again and again. */
    private void drainWhileTaken() throws Exception {
        String trouble = sidecar.ping(patienceMs);
        List<byte[]> events = trouble == null ? firstOrDirect(1) : Collections.emptyList();
        if (!events.isEmpty()) {
            sidecar.report(report(), settings.deadlineMs); // however long it then refuses the event, it knows of us
        }
        while (!events.isEmpty() && trouble == null) {
            trouble = sidecar.offer(events, patienceMs);
            events = trouble == null ? nextOrDirect(events.size()) : events;
        }
        if (trouble != null) {
            tell(trouble);
        }
    }

    private List<byte[]> nextOrDirect(int taken) throws Exception {
        synchronized (lock) {
            delivered += taken;
            spool.forgetFirst();
            return firstOrDirect(TOGETHER);
        }
    }

    /** The first events of the spool; if there are none the drainer's work ends, in the same step. */
    private List<byte[]> firstOrDirect(int most) throws Exception {
        synchronized (lock) {
            List<byte[]> events = spool.first(most);
            if (events.isEmpty()) {
                direct = true;
                lock.notifyAll();
                drainer = null;
                notices.sidecarTakesEvents(delivered);
            }
            return events;
        }
    }

    private String report() {
        synchronized (lock) {
            return Reporter.json(instance, settings.source, sequences.get(), notices.lost(), spool.size());
        }
    }

    private String reportWhenDirect() throws InterruptedException {
        synchronized (lock) {
            while (!direct) {
                lock.wait();
            }
            return report();
        }
    }

    private void tell(String trouble) {
        synchronized (lock) {
            notices.sidecarTakesNone(trouble);
        }
    }

    private void lose(String why, Throwable problem) {
        synchronized (lock) {
            notices.lost(why, problem);
        }
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            // Our own thread: nobody means it to stop while there is something in the spool.
        }
    }
}
