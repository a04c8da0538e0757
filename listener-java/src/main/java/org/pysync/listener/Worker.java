package org.pysync.listener;

/** A daemon thread that is started again should it have died of an Error. */
final class Worker {
    private final Runnable task;
    private final String name;
    private volatile Thread thread;

    Worker(Runnable task, String name) {
        this.task = task;
        this.name = name;
    }

    /** It runs after this; from any thread, and cheap. */
    void keepRunning() {
        Thread current = thread;
        if (current == null || !current.isAlive()) {
            start();
        }
    }

    private synchronized void start() {
        if (thread == null || !thread.isAlive()) {
            Thread made = Bridge.daemon(task, name);
            made.start();
            thread = made;
        }
    }
}
