package org.pysync.listener;

import java.io.Closeable;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.CallbackConnection;
import py4j.Py4JNetworkException;

/**
 * One connection to the sidecar.
 *
 * <p>Promise: takes the answers as data and nothing else (py4j's other clients execute what comes back); a command
 * that {@link #takesAtOnce} ends within its deadline, however slowly the answer drips in; {@link #close} may come from
 * any thread and ends whatever the connection is waiting for.
 */
final class BridgeConnection implements Closeable {
    /** Asked of the kernel, so that a command waits for no reader. */
    private static final int SEND_BUFFER = 256 * 1024;
    /** Each packet's own head counts in the buffer, too: with small packets as much again and more. */
    private static final int BUFFER_SHARE = 4;

    private final OneSocket socket = new OneSocket();
    private CallbackConnection py4j;
    private int room;

    /** Connects, and shakes hands. */
    void open(InetAddress address, int port, byte[] secret, long deadlineMs) throws IOException {
        socket.secret = secret;
        socket.startClock(deadlineMs);
        py4j = new CallbackConnection(port, address, socket, (int) deadlineMs);
        py4j.start();
        room = socket.made.getSendBufferSize() / BUFFER_SHARE;
    }

    /** Whether the kernel takes the whole command though nobody reads: all before it has been answered, thus read. */
    boolean takesAtOnce(Command command) {
        return command.length() <= room;
    }

    /** Raises Py4JException. What py4j has written before is flushed, so that the two writers do not meet. */
    String send(Command command, long deadlineMs) {
        socket.startClock(deadlineMs);
        try {
            command.writeTo(socket.made.getOutputStream());
        } catch (IOException e) {
            throw new Py4JNetworkException(e);
        }
        return py4j.sendCommand(command.rest());
    }

    /** The socket itself, not py4j's reader and writer: those lock, and wait for what we want to end. */
    @Override
    public void close() {
        try {
            socket.made.close();
        } catch (IOException e) {
            // It is gone either way.
        }
    }

    /** The factory of the connection's only socket, as py4j wants one. */
    private static final class OneSocket extends SocketFactory {
        private final DeadlineSocket made = new DeadlineSocket();
        private byte[] secret;

        private void startClock(long deadlineMs) {
            made.end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
        }

        @Override
        public Socket createSocket(InetAddress address, int port) throws IOException {
            made.setTcpNoDelay(true);
            made.setSendBufferSize(SEND_BUFFER);
            made.connect(new InetSocketAddress(address, port), made.millisLeft());
            made.sealed = Handshake.with(made.bounded(), made.plain(), secret);
            return made;
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress localAddress, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
            throw new UnsupportedOperationException();
        }
    }

    /** Java's own timeout counts anew for each byte that comes. */
    private static final class DeadlineSocket extends Socket {
        /** Of what is waited for now, as {@link System#nanoTime} has it. */
        private volatile long end;
        private Sealed sealed;

        private int millisLeft() throws SocketTimeoutException {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                throw new SocketTimeoutException("the time is up");
            }
            return (int) left;
        }

        private OutputStream plain() throws IOException {
            return super.getOutputStream();
        }

        private InputStream bounded() throws IOException {
            return new FilterInputStream(super.getInputStream()) {
                @Override
                public int read() throws IOException {
                    setSoTimeout(millisLeft());
                    return super.read();
                }

                @Override
                public int read(byte[] bytes, int at, int length) throws IOException {
                    setSoTimeout(millisLeft());
                    return super.read(bytes, at, length);
                }
            };
        }

        /** What py4j reads and writes; its pieces of 8 KB go out together. */
        @Override
        public InputStream getInputStream() {
            return sealed.in;
        }

        @Override
        public OutputStream getOutputStream() {
            return sealed.out;
        }
    }
}
