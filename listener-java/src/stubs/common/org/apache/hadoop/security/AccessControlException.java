package org.apache.hadoop.security;

import java.io.IOException;

/** Stub. */
public class AccessControlException extends IOException {
    private static final long serialVersionUID = 1L;

    public AccessControlException(String message) {
        super(message);
    }
}
