package org.pysync.listener;

/** The sidecar did not take a command; the message is of our own words and never holds a payload or a secret. */
final class BridgeException extends Exception {
    private static final long serialVersionUID = 1L;

    BridgeException(String why) {
        super(why, null, false, false);
    }
}
