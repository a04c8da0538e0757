package org.apache.thrift.protocol;

/** Stub. */
public class TList {
    public TList(byte type, int size) {}
}
