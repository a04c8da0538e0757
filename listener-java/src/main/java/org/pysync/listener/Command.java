package org.pysync.listener;

import java.io.IOException;
import java.io.OutputStream;

/** What is sent in one call: the most of it as a stream, because it may be long, the rest as py4j takes it. */
interface Command {
    /** The characters of all of it, each of which is a byte. */
    long length();

    /** Everything but the {@link #rest}; may be called again, for another connection. */
    void writeTo(OutputStream out) throws IOException;

    /** What py4j sends, before it waits for the answer. */
    String rest();

    /** A short one, all of which py4j sends. */
    static Command of(String text) {
        return new Command() {
            @Override
            public long length() {
                return text.length();
            }

            @Override
            public void writeTo(OutputStream out) {
                // There is nothing else.
            }

            @Override
            public String rest() {
                return text;
            }
        };
    }
}
