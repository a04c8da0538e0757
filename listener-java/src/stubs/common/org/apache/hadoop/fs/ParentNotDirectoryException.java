package org.apache.hadoop.fs;

import java.io.IOException;

/** Stub. */
public class ParentNotDirectoryException extends IOException {
    private static final long serialVersionUID = 1L;

    private ParentNotDirectoryException() {}
}
