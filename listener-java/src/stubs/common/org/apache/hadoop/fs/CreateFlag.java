package org.apache.hadoop.fs;

/** Stub. */
public enum CreateFlag {
    CREATE,
    OVERWRITE
}
