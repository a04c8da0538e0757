package org.apache.thrift.protocol;

import org.apache.thrift.transport.TTransport;

/** Stub. */
public class TBinaryProtocol extends TProtocol {
    public TBinaryProtocol(TTransport transport) {}
}
