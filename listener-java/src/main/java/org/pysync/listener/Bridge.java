package org.pysync.listener;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import py4j.Py4JException;
import py4j.StringUtil;

/**
 * The sidecar as seen from here: {@code append}, {@code ping} and {@code report} over py4j's callback protocol, on one
 * connection.
 *
 * <p>Promise: a call returns within its deadline, whatever the sidecar and the network do. Only {@link #connect} may take
 * longer, where a name server hangs: that is for threads of our own, and comes first. Not for several threads at once.
 */
final class Bridge {
    /** py4j logs every payload. Held here, because the log manager forgets levels of loggers that nobody holds. */
    private static final java.util.logging.Logger PY4J_LOG = java.util.logging.Logger.getLogger(py4jPackage());

    private static final long IDLE_SECONDS = 30;

    private final Settings settings;
    /** Ends the writing of a command that is too long for the kernel: Java gives that no timeout. */
    private final ScheduledThreadPoolExecutor guard;
    private InetAddress address;
    /** Null until there is one, and after a failure. */
    private BridgeConnection connection;

    Bridge(Settings settings) {
        PY4J_LOG.setLevel(Level.OFF);
        this.settings = settings;
        this.guard = new ScheduledThreadPoolExecutor(1, task -> daemon(task, "pysync-guard"));
        guard.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        guard.allowCoreThreadTimeOut(true);
        guard.setRemoveOnCancelPolicy(true);
    }

    /** The jar has py4j in another package than these sources. */
    private static String py4jPackage() {
        String name = Py4JException.class.getName();
        return name.substring(0, name.lastIndexOf('.'));
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Opens the connection, if there is none. */
    void connect(long deadlineMs) throws BridgeException {
        if (connection == null) {
            try {
                address = InetAddress.getByName(settings.host);
            } catch (UnknownHostException e) {
                throw new BridgeException("the host name is unknown");
            }
            connection = open(deadlineMs);
        }
    }

    /** The sidecar's one-word answer to events, which it takes all or none. */
    String append(List<byte[]> events, long deadlineMs) throws BridgeException {
        return call(new Append(events), deadlineMs);
    }

    String ping(long deadlineMs) throws BridgeException {
        return call(Command.of("c\nt\nping\ne\n"), deadlineMs);
    }

    /** JSON of docs/wire-format.md. */
    String report(String json, long deadlineMs) throws BridgeException {
        return call(Command.of("c\nt\nreport\ns" + StringUtil.escape(json) + "\ne\n"), deadlineMs);
    }

    /** A restarted sidecar leaves the connection stale; sending again is safe, events have ids. */
    private String call(Command command, long deadlineMs) throws BridgeException {
        if (connection == null) {
            throw new BridgeException("there is no connection");
        }
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
        try {
            return talk(command, deadlineMs);
        } catch (Py4JException e) {
            if (rootOf(e) instanceof SocketTimeoutException) {
                throw reason(e);
            }
        }
        connection = open(millisUntil(end));
        try {
            return talk(command, millisUntil(end));
        } catch (Py4JException e) {
            throw reason(e);
        }
    }

    private static long millisUntil(long end) {
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()));
    }

    private BridgeConnection open(long deadlineMs) throws BridgeException {
        byte[] secret = TokenFile.read(settings.tokenFile);
        BridgeConnection made = new BridgeConnection();
        try {
            made.open(address, settings.port, secret, deadlineMs);
            return made;
        } catch (IOException e) {
            made.close();
            throw refusal(e);
        }
    }

    /** Takes the connection, and gives it back if all went well. */
    private String talk(Command command, long deadlineMs) throws BridgeException {
        BridgeConnection with = connection;
        connection = null;
        Future<?> end = with.takesAtOnce(command) ? null : guard.schedule(with::close, deadlineMs, TimeUnit.MILLISECONDS);
        try {
            String text = textOf(with.send(command, deadlineMs));
            connection = with;
            return text;
        } finally {
            if (end != null) {
                end.cancel(false);
            }
            if (connection == null) {
                with.close();
            }
        }
    }

    /** py4j wraps; its messages hold the payload, so that only classes are looked at. */
    private static Throwable rootOf(Throwable problem) {
        Throwable root = problem;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    private static BridgeException reason(Throwable problem) {
        Throwable root = rootOf(problem);
        if (root instanceof UnprovenException) {
            return new BridgeException(root.getMessage());
        }
        return root instanceof SocketTimeoutException
                ? new BridgeException("it does not answer in time")
                : new BridgeException("the connection broke (" + root.getClass().getSimpleName() + ")");
    }

    private BridgeException refusal(IOException problem) {
        if (problem instanceof ConnectException) {
            return new BridgeException("nothing listens there: start pysync");
        }
        if (problem instanceof UnprovenException) {
            return new BridgeException(problem.getMessage() + " in " + settings.tokenFile);
        }
        if (problem instanceof EOFException || problem.getClass() == SocketException.class) {
            return new BridgeException("it hangs up when we greet it: an older pysync, to be upgraded first, or none");
        }
        return reason(problem);
    }

    /** {@code y} for success, {@code s} for a string. */
    private static String textOf(String answer) throws BridgeException {
        if (answer != null && answer.startsWith("ys")) {
            return answer.substring(2);
        }
        throw new BridgeException("it answered with an error");
    }
}
