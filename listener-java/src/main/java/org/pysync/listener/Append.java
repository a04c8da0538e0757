package org.pysync.listener;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** The call that brings events, in Base64: made piece by piece, so that it takes no more memory than the events have. */
final class Append implements Command {
    private static final byte[] BEGIN = "c\nt\nappend\n".getBytes(StandardCharsets.US_ASCII);
    /** Of an event, at a time; a multiple of three, so that the pieces' Base64 is that of the whole. */
    private static final int PIECE = 3 * 64 * 1024;

    private final List<byte[]> events;

    Append(List<byte[]> events) {
        this.events = events;
    }

    @Override
    public long length() {
        long length = BEGIN.length + rest().length();
        for (byte[] event : events) {
            length += 2 + 4 * ((event.length + 2L) / 3);
        }
        return length;
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        out.write(BEGIN);
        for (byte[] event : events) {
            out.write('s');
            for (int at = 0; at < event.length; at += PIECE) {
                byte[] piece = Arrays.copyOfRange(event, at, Math.min(event.length, at + PIECE));
                out.write(Base64.getEncoder().encode(piece));
            }
            out.write('\n');
        }
    }

    @Override
    public String rest() {
        return "e\n";
    }
}
