package org.apache.thrift.transport;

/** Stub. */
public abstract class TTransport {}
