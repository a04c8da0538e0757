package org.apache.hadoop.fs;

import java.io.OutputStream;

/** Stub. */
public abstract class FSDataOutputStream extends OutputStream {}
