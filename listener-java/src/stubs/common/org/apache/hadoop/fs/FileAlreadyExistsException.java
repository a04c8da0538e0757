package org.apache.hadoop.fs;

import java.io.IOException;

/** Stub. */
public class FileAlreadyExistsException extends IOException {
    private static final long serialVersionUID = 1L;

    public FileAlreadyExistsException(String message) {
        super(message);
    }
}
