package org.pysync.listener;

import java.io.IOException;

/** The event would take the spool beyond {@code pysync.spool.max.bytes}. */
final class SpoolFullException extends IOException {
    private static final long serialVersionUID = 1;
}
