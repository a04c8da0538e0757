package org.pysync.listener;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import javax.net.SocketFactory;
import py4j.CallbackConnection;

/**
 * One connection to the sidecar.
 *
 * <p>Promise: takes the answers as data and nothing else (py4j's other clients execute what comes back);
 * {@link #close} may come from any thread and ends whatever the connection is waiting for.
 */
final class BridgeConnection implements Closeable {
    private final OneSocket socket;
    private CallbackConnection py4j;

    BridgeConnection(int timeoutMs) {
        this.socket = new OneSocket(timeoutMs);
    }

    void open(InetAddress address, int port, String token) throws IOException {
        py4j = new CallbackConnection(port, address, socket, socket.timeoutMs, token);
        py4j.start();
    }

    String send(String command) {
        return py4j.sendCommand(command);
    }

    @Override
    public void close() {
        socket.close();
    }

    /** Makes the connection's only socket and keeps hold of it. */
    private static final class OneSocket extends SocketFactory {
        private final int timeoutMs;
        private volatile Socket socket;
        private volatile boolean closed;

        private OneSocket(int timeoutMs) {
            this.timeoutMs = timeoutMs;
        }

        @Override
        public Socket createSocket(InetAddress address, int port) throws IOException {
            Socket made = new Socket();
            socket = made;
            if (closed) {
                throw new SocketException("closed");
            }
            made.setTcpNoDelay(true);
            made.setSoTimeout(timeoutMs);
            made.connect(new InetSocketAddress(address, port), timeoutMs);
            return made;
        }

        /** The socket itself, not py4j's reader and writer: those lock, and wait for what we want to end. */
        private void close() {
            closed = true;
            try {
                if (socket != null) {
                    socket.close();
                }
            } catch (IOException e) {
                // It is gone either way.
            }
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
}
