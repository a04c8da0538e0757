package org.apache.hadoop.fs;

import java.io.IOException;

/** Stub. */
public class ChecksumException extends IOException {
    private static final long serialVersionUID = 1L;

    private ChecksumException() {}
}
