package org.pysync.listener;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import javax.crypto.Mac;

/**
 * What travels after the handshake: records of length, MAC and bytes, numbered in each direction.
 *
 * <p>Promise: {@link #in} gives no byte that the other side did not send on this connection, at this place. A record goes
 * out in one write, when {@link #out} is flushed or it is full.
 */
final class Sealed {
    /** Of one record's bytes, here and at the sidecar. */
    static final int LONGEST = 256 * 1024;

    private static final int MAC_BYTES = 32;
    private static final int HEAD = Integer.BYTES + MAC_BYTES;

    final InputStream in;
    final OutputStream out;

    Sealed(InputStream from, byte[] inKey, OutputStream to, byte[] outKey) throws IOException {
        in = new In(new DataInputStream(from), new Seal(inKey));
        out = new Out(to, new Seal(outKey));
    }

    private static final class Seal {
        private final Mac mac;
        private long number;

        private Seal(byte[] key) throws IOException {
            mac = Handshake.mac(key);
        }

        private byte[] ofNext(byte[] bytes, int from, int length) {
            number++;
            mac.update(ByteBuffer.allocate(Long.BYTES).putLong(number).array());
            mac.update(bytes, from, length);
            return mac.doFinal();
        }
    }

    private static final class Out extends OutputStream {
        private final OutputStream to;
        private final Seal seal;
        private final byte[] record = new byte[HEAD + LONGEST];
        private int end = HEAD;

        private Out(OutputStream to, Seal seal) {
            this.to = to;
            this.seal = seal;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            for (int at = 0; at < length; ) {
                int part = Math.min(length - at, record.length - end);
                System.arraycopy(bytes, from + at, record, end, part);
                end += part;
                at += part;
                if (end == record.length) {
                    send();
                }
            }
        }

        @Override
        public void flush() throws IOException {
            if (end > HEAD) {
                send();
            }
            to.flush();
        }

        private void send() throws IOException {
            int length = end - HEAD;
            ByteBuffer.wrap(record).putInt(length).put(seal.ofNext(record, HEAD, length));
            end = HEAD;
            to.write(record, 0, HEAD + length);
        }
    }

    private static final class In extends InputStream {
        private final DataInputStream from;
        private final Seal seal;
        private ByteBuffer left = ByteBuffer.allocate(0);

        private In(DataInputStream from, Seal seal) {
            this.from = from;
            this.seal = seal;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int at, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            try {
                if (!left.hasRemaining()) {
                    left = ByteBuffer.wrap(next());
                }
            } catch (EOFException theOtherSideHungUp) {
                return -1;
            }
            int part = Math.min(length, left.remaining());
            left.get(bytes, at, part);
            return part;
        }

        @Override
        public int available() {
            return left.remaining();
        }

        private byte[] next() throws IOException {
            int length = from.readInt();
            if (length <= 0 || length > LONGEST) {
                throw new UnprovenException("an answer is not the sidecar's");
            }
            byte[] mac = new byte[MAC_BYTES];
            from.readFully(mac);
            byte[] bytes = new byte[length];
            from.readFully(bytes);
            if (!MessageDigest.isEqual(mac, seal.ofNext(bytes, 0, length))) {
                throw new UnprovenException("an answer is not the sidecar's, or was changed on its way");
            }
            return bytes;
        }
    }
}
