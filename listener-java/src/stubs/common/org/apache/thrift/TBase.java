package org.apache.thrift;

import org.apache.thrift.protocol.TProtocol;

/** Stub. */
public interface TBase<T, F> {
    void write(TProtocol out) throws TException;
}
