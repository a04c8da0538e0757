package org.pysync.listener;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Which processes of this spool began and have not said goodbye: so that one which was killed between its first commit
 * and our callback, while no sidecar ran, is heard of all the same.
 *
 * <p>Promise: never throws, and holds its caller no longer than it says. A process leaves its {@link Marker} when
 * it begins, and takes it away when its goodbye is safe; the next one tells the sidecar of those that are dead,
 * until it has noted that.
 */
final class Presence {
    /** One is enough for the sidecar to compare everything; the others are for whoever reads its status. */
    private static final int MOST_DEAD = 100;

    private final SpoolDirectory directory;
    private final Consumer<Exception> onTrouble;
    /** Found once, by the thread that marks; then only the reporter's. */
    private volatile Map<String, LockedFile> dead = new LinkedHashMap<>();
    private LockedFile own;
    private boolean left;

    Presence(SpoolDirectory directory, Consumer<Exception> onTrouble) {
        this.directory = directory;
        this.onTrouble = onTrouble;
    }

    /** Leaves our marker and finds those of the dead; a disk is waited for no longer than {@code patienceMs}. */
    void begin(long patienceMs) {
        Thread marking = Bridge.daemon(this::mark, "pysync-marker");
        marking.start();
        try {
            marking.join(patienceMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Our goodbye is safe. */
    synchronized void leave() {
        left = true;
        removeQuietly(own);
        own = null;
    }

    /** {@code tell} hears of each that is dead, and says whether the sidecar has noted it. For one thread. */
    void tellOfDead(Predicate<String> tell) {
        Map<String, LockedFile> untold = dead;
        while (!untold.isEmpty()) {
            String instance = untold.keySet().iterator().next();
            if (!tell.test(instance)) {
                return;
            }
            removeQuietly(untold.remove(instance));
        }
    }

    private void mark() {
        try {
            directory.make();
            keep(Marker.create(directory.marker()));
            Map<String, LockedFile> found = new LinkedHashMap<>();
            for (Path path : directory.markers()) {
                find(path, found);
            }
            dead = found;
        } catch (Exception e) {
            onTrouble.accept(e);
        }
    }

    private synchronized void keep(LockedFile marker) {
        if (left) {
            removeQuietly(marker);
        } else {
            own = marker;
        }
    }

    private void find(Path path, Map<String, LockedFile> found) {
        try {
            LockedFile marker = Marker.ofDead(path);
            if (marker != null && found.size() < MOST_DEAD) {
                found.put(directory.instanceOf(path), marker);
            } else {
                removeQuietly(marker);
            }
        } catch (IOException | RuntimeException e) {
            onTrouble.accept(e);
        }
    }

    /** If it stays, the sidecar is told of it once more, which changes nothing. */
    private static void removeQuietly(LockedFile marker) {
        try {
            if (marker != null) {
                marker.remove();
            }
        } catch (IOException e) {
            // It says nothing that is not known.
        }
    }
}
