package org.apache.thrift.protocol;

/** Stub. */
public class TMap {
    public TMap(byte keys, byte values, int size) {}
}
