package org.apache.hadoop.fs;

import java.io.InputStream;

/** Stub. */
public abstract class FSDataInputStream extends InputStream {}
