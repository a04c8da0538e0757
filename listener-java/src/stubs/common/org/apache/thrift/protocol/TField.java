package org.apache.thrift.protocol;

/** Stub. */
public class TField {
    public TField(String name, byte type, short id) {}
}
