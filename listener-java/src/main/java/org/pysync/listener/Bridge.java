package org.pysync.listener;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Base64;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import py4j.Py4JException;
import py4j.StringUtil;

/**
 * The sidecar as seen from here: {@code append}, {@code ping} and {@code report} over py4j's callback protocol.
 *
 * <p>Promise: a call returns within its deadline, whatever the sidecar and the network do. Socket writes have
 * no timeout in Java, so that a few daemon threads do the talking and the caller only waits; when its time is
 * up it closes the socket under them.
 */
final class Bridge {
    /** py4j logs every payload. Held here, because the log manager forgets levels of loggers that nobody holds. */
    private static final java.util.logging.Logger PY4J_LOG = java.util.logging.Logger.getLogger("py4j");

    private static final int TALKERS = 16;
    private static final int WAITING = 1024;
    private static final long IDLE_SECONDS = 30;

    private final Settings settings;
    private final int socketTimeoutMs;
    private final ThreadPoolExecutor talkers;
    private final BlockingDeque<BridgeConnection> idle = new LinkedBlockingDeque<>();

    Bridge(Settings settings, int socketTimeoutMs) {
        PY4J_LOG.setLevel(Level.OFF);
        this.settings = settings;
        this.socketTimeoutMs = socketTimeoutMs;
        this.talkers = new ThreadPoolExecutor(TALKERS, TALKERS, IDLE_SECONDS, TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(WAITING), task -> daemon(task, "pysync-bridge"));
        talkers.allowCoreThreadTimeOut(true);
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** The sidecar's one-word answer to an event. */
    String append(byte[] event, long deadlineMs) throws BridgeException {
        return call("c\nt\nappend\ns" + Base64.getEncoder().encodeToString(event) + "\ne\n", deadlineMs);
    }

    String ping(long deadlineMs) throws BridgeException {
        return call("c\nt\nping\ne\n", deadlineMs);
    }

    /** JSON of docs/wire-format.md. */
    String report(String json, long deadlineMs) throws BridgeException {
        return call("c\nt\nreport\ns" + StringUtil.escape(json) + "\ne\n", deadlineMs);
    }

    private String call(String command, long deadlineMs) throws BridgeException {
        Exchange exchange = new Exchange(command);
        FutureTask<String> task = new FutureTask<>(exchange);
        try {
            talkers.execute(task);
            return task.get(deadlineMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            throw new BridgeException("it is too busy: " + WAITING + " calls wait");
        } catch (TimeoutException e) {
            throw new BridgeException("it does not answer in time");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BridgeException("the metastore interrupted the call");
        } catch (ExecutionException e) {
            throw reason(e.getCause());
        } finally {
            if (!task.isDone()) {
                task.cancel(false);
                talkers.remove(task);
                exchange.abandon();
            }
        }
    }

    private static BridgeException reason(Throwable cause) {
        if (cause instanceof BridgeException) {
            return (BridgeException) cause;
        }
        return new BridgeException("the call failed (" + rootOf(cause).getClass().getSimpleName() + ")");
    }

    /** py4j wraps; its messages hold the payload, so that only classes are looked at. */
    private static Throwable rootOf(Throwable problem) {
        Throwable root = problem;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    private String token() throws BridgeException {
        try {
            String token = new String(Files.readAllBytes(settings.tokenFile), StandardCharsets.UTF_8).trim();
            if (!token.isEmpty()) {
                return token;
            }
        } catch (IOException e) {
            throw new BridgeException("the token file " + settings.tokenFile + " cannot be read ("
                    + e.getClass().getSimpleName() + ")");
        }
        throw new BridgeException("the token file " + settings.tokenFile + " is empty");
    }

    private void closeIdle() {
        BridgeConnection connection = idle.pollFirst();
        while (connection != null) {
            connection.close();
            connection = idle.pollFirst();
        }
    }

    /** One command and its answer, on a pooled connection if there is one. */
    private final class Exchange implements Callable<String> {
        private final String command;
        private volatile BridgeConnection connection;
        private volatile boolean abandoned;

        private Exchange(String command) {
            this.command = command;
        }

        @Override
        public String call() throws BridgeException {
            BridgeConnection pooled = idle.pollFirst();
            if (pooled != null) {
                try {
                    return talk(pooled);
                } catch (Py4JException e) {
                    staleOrThrow(e);
                }
            }
            return talk(connect());
        }

        /** The caller has gone: nobody wants the answer. */
        private void abandon() {
            abandoned = true;
            if (connection != null) {
                connection.close();
            }
        }

        /** A restarted sidecar leaves every pooled connection stale; sending again is safe, events have ids. */
        private void staleOrThrow(Py4JException problem) {
            if (abandoned || rootOf(problem) instanceof SocketTimeoutException) {
                throw problem;
            }
            closeIdle();
        }

        private BridgeConnection connect() throws BridgeException {
            String token = token();
            BridgeConnection made = new BridgeConnection(socketTimeoutMs);
            hold(made);
            try {
                made.open(InetAddress.getByName(settings.host), settings.port, token);
                return made;
            } catch (IOException e) {
                made.close();
                throw refusal(e);
            }
        }

        private BridgeException refusal(IOException problem) {
            if (problem instanceof ConnectException) {
                return new BridgeException("nothing listens there: start pysync");
            }
            if (problem instanceof SocketTimeoutException) {
                return new BridgeException("it does not answer in time");
            }
            if (problem instanceof UnknownHostException) {
                return new BridgeException("the host name is unknown");
            }
            if (problem.getClass() == IOException.class) {
                return new BridgeException("it does not accept the token in " + settings.tokenFile);
            }
            return new BridgeException("the connection broke (" + problem.getClass().getSimpleName() + ")");
        }

        private String talk(BridgeConnection with) throws BridgeException {
            hold(with);
            boolean done = false;
            try {
                String answer = with.send(command);
                done = true;
                idle.addFirst(with);
                return textOf(answer);
            } finally {
                if (!done) {
                    with.close();
                }
            }
        }

        private void hold(BridgeConnection with) {
            connection = with;
            if (abandoned) {
                with.close();
            }
        }

        /** {@code y} for success, {@code s} for a string. */
        private String textOf(String answer) throws BridgeException {
            if (answer != null && answer.startsWith("ys")) {
                return answer.substring(2);
            }
            throw new BridgeException("it answered with an error");
        }
    }
}
