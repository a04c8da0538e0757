package org.pysync.listener;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TField;
import org.apache.thrift.protocol.TList;
import org.apache.thrift.protocol.TMap;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TType;
import org.apache.thrift.transport.TMemoryBuffer;

/**
 * A struct in TBinaryProtocol, written field by field.
 *
 * <p>Promise: a field without a value is left out; only those parts of libthrift are used that are the same in
 * 0.9.3 and 0.16.
 */
final class ThriftStruct {
    private final TMemoryBuffer buffer;
    private final TProtocol out;

    /** {@code size} is what it will take, as far as that is known: a buffer that grows is copied again and again. */
    ThriftStruct(int size) throws TException {
        buffer = new TMemoryBuffer(size);
        out = new TBinaryProtocol(buffer);
    }

    void i16(int id, short value) throws TException {
        begin(TType.I16, id);
        out.writeI16(value);
    }

    void i64(int id, Long value) throws TException {
        if (value != null) {
            begin(TType.I64, id);
            out.writeI64(value);
        }
    }

    void string(int id, String value) throws TException {
        if (value != null) {
            begin(TType.STRING, id);
            out.writeString(value);
        }
    }

    void binary(int id, byte[] value) throws TException {
        if (value != null) {
            begin(TType.STRING, id);
            out.writeBinary(ByteBuffer.wrap(value));
        }
    }

    void map(int id, Map<String, String> map) throws TException {
        begin(TType.MAP, id);
        out.writeMapBegin(new TMap(TType.STRING, TType.STRING, map.size()));
        for (Map.Entry<String, String> entry : map.entrySet()) {
            out.writeString(entry.getKey());
            out.writeString(entry.getValue());
        }
    }

    void list(int id, List<byte[]> list) throws TException {
        begin(TType.LIST, id);
        out.writeListBegin(new TList(TType.STRING, list.size()));
        for (byte[] bytes : list) {
            out.writeBinary(ByteBuffer.wrap(bytes));
        }
    }

    /** The bytes of the whole struct; it takes no more fields. */
    byte[] end() throws TException {
        out.writeFieldStop();
        return Arrays.copyOf(buffer.getArray(), buffer.length());
    }

    private void begin(byte type, int id) throws TException {
        out.writeFieldBegin(new TField("", type, (short) id));
    }
}
