package org.apache.hadoop.fs.viewfs;

import org.apache.hadoop.fs.FileSystem;

/** Stub. */
public abstract class ViewFileSystem extends FileSystem {}
