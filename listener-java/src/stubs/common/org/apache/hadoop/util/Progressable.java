package org.apache.hadoop.util;

/** Stub. */
public interface Progressable {}
