package org.apache.thrift.transport;

import org.apache.thrift.TException;

/** Stub. */
public class TMemoryBuffer extends TTransport {
    public TMemoryBuffer(int size) throws TException {}

    public native byte[] getArray();

    public native int length();

    public native void write(byte[] bytes, int from, int length);
}
