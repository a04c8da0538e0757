package org.slf4j;

/** Stub. */
public interface Logger {
    void info(String format, Object value);

    void info(String format, Object value, Object other);

    void info(String format, Object... values);

    void warn(String format, Object value);

    void warn(String format, Object value, Object other);

    void warn(String format, Object... values);

    void error(String format, Object value);

    void error(String format, Object value, Object other);

    void error(String format, Object... values);
}
