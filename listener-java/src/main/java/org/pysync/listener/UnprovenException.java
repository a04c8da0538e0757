package org.pysync.listener;

import java.io.IOException;

/** The other side has not proved that what it says is the sidecar's; the message is of our own words. */
final class UnprovenException extends IOException {
    private static final long serialVersionUID = 1L;

    UnprovenException(String why) {
        super(why);
    }
}
