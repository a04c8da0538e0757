package org.pysync.copy;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Several things done at once within one task, for most of the time of a small file is spent waiting: for a name node, a
 * data node, an object store.
 */
final class Crew {
    private static final int THREADS = 8;

    private Crew() {
    }

    /** Do all of it, as the user of this thread; the answers are in the order of the work. Ends all if one fails. */
    static <T> List<T> each(List<Callable<T>> work) throws IOException {
        if (work.size() < 2) {
            return inTurn(work);
        }
        UserGroupInformation user = UserGroupInformation.getCurrentUser();
        ExecutorService pool = Executors.newFixedThreadPool(Math.min(THREADS, work.size()), Crew::thread);
        try {
            List<Future<T>> begun = new ArrayList<>();
            for (Callable<T> item : work) {
                begun.add(pool.submit(() -> user.doAs((PrivilegedExceptionAction<T>) item::call)));
            }
            List<T> done = new ArrayList<>();
            for (Future<T> item : begun) {
                done.add(ended(item::get));
            }
            return done;
        } finally {
            pool.shutdownNow();
        }
    }

    /** The same in this thread, one after the other. */
    static <T> List<T> inTurn(List<Callable<T>> work) throws IOException {
        List<T> done = new ArrayList<>();
        for (Callable<T> item : work) {
            done.add(ended(item));
        }
        return done;
    }

    private static <T> T ended(Callable<T> item) throws IOException {
        try {
            return item.call();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the copy was ended");
        } catch (ExecutionException error) {
            throw thrown(error.getCause());
        } catch (Exception error) {
            throw thrown(error);
        }
    }

    /** The error itself, where a caller can catch it so. */
    private static IOException thrown(Throwable error) {
        if (error instanceof RuntimeException) {
            throw (RuntimeException) error;
        }
        if (error instanceof Error) {
            throw (Error) error;
        }
        return error instanceof IOException ? (IOException) error : new IOException(error);
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "pysync copy");
        thread.setDaemon(true);
        return thread;
    }
}
