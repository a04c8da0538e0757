package org.apache.hadoop.fs;

/** Stub. */
public abstract class Options {
    /** Stub. */
    public enum Rename {
        OVERWRITE
    }
}
