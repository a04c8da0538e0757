package org.slf4j;

/** Stub. */
public abstract class LoggerFactory {
    public static native Logger getLogger(Class<?> owner);
}
