package org.pysync.listener;

import org.apache.thrift.TException;
import org.apache.thrift.transport.TMemoryBuffer;

/** What thrift writes, in memory, up to a bound: what is too long is found out before it takes the memory. */
final class BoundedBuffer extends TMemoryBuffer {
    private static final int SIZE = 1024;

    private final long most;

    BoundedBuffer(long most) throws TException {
        super(SIZE);
        this.most = most;
    }

    /** It is more than the bound. */
    static final class TooLong extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private TooLong() {
            super("longer than an event may be", null, false, false);
        }
    }

    @Override
    public void write(byte[] bytes, int from, int length) {
        if (length() + (long) length > most) {
            throw new TooLong();
        }
        super.write(bytes, from, length);
    }

    /** All that was written. */
    byte[] bytes() {
        byte[] bytes = new byte[length()];
        System.arraycopy(getArray(), 0, bytes, 0, bytes.length);
        return bytes;
    }
}
