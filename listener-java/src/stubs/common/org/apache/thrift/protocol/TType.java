package org.apache.thrift.protocol;

/** Stub: the compiler copies the values. */
public abstract class TType {
    public static final byte I16 = 6;
    public static final byte I64 = 10;
    public static final byte STRING = 11;
    public static final byte MAP = 13;
    public static final byte LIST = 15;
}
