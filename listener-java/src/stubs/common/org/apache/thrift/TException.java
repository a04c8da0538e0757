package org.apache.thrift;

/** Stub. */
public class TException extends Exception {
    private static final long serialVersionUID = 1L;

    private TException() {}
}
