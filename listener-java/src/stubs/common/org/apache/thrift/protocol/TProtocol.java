package org.apache.thrift.protocol;

import java.nio.ByteBuffer;
import org.apache.thrift.TException;

/** Stub. */
public abstract class TProtocol {
    public native void writeFieldBegin(TField field) throws TException;

    public native void writeFieldStop() throws TException;

    public native void writeMapBegin(TMap map) throws TException;

    public native void writeListBegin(TList list) throws TException;

    public native void writeI16(short value) throws TException;

    public native void writeI64(long value) throws TException;

    public native void writeString(String value) throws TException;

    public native void writeBinary(ByteBuffer value) throws TException;
}
