package org.pysync.listener;

import java.nio.file.Path;

/**
 * Which locked files are open in this JVM.
 *
 * <p>Promise: one taker at a time. Closing any second handle of a file gives up this process's lock on it, so that a
 * file which is open in this JVM must not be opened again: not even by another class loader, hence a system property.
 */
final class Claim {
    private Claim() {
    }

    /** False if it is open already. */
    static boolean take(Path path) {
        return System.getProperties().putIfAbsent(key(path), "open") == null;
    }

    static void release(Path path) {
        System.getProperties().remove(key(path));
    }

    private static String key(Path path) {
        return "pysync.spool.open:" + path;
    }
}
