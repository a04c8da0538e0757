package org.pysync.listener;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/**
 * One event as it lies in the spool: length, CRC-32 and the bytes, which begin with the event's version.
 *
 * <p>Promise: nothing comes out but what has its checksum, and nothing longer than {@link #LONGEST} is read
 * into memory, whatever a damaged length says.
 */
final class SpoolRecord {
    static final int HEAD = 8;
    /** Below what the sidecar takes in one line. */
    static final int LONGEST = 128 * 1024 * 1024;

    private static final int PIECE = 1 << 20;

    /** Field 1 of every event, an i16, in TBinaryProtocol. */
    private static final byte[] EVENT_BEGINS = {6, 0, 1};

    private SpoolRecord() {
    }

    /** Writes the record of an event where the file is. */
    static void write(RandomAccessFile file, byte[] event) throws IOException {
        if (event.length <= PIECE) {
            file.write(of(event));
            return;
        }
        file.write(headOf(event));
        for (int at = 0; at < event.length; at += PIECE) {
            file.write(event, at, Math.min(PIECE, event.length - at)); // the JVM copies what it writes, as a whole
        }
    }

    private static byte[] headOf(byte[] event) {
        return ByteBuffer.allocate(HEAD).putInt(event.length).putInt(checksum(event, 0, event.length)).array();
    }

    /** The bytes of a record. */
    static byte[] of(byte[] event) {
        return ByteBuffer.allocate(HEAD + event.length).putInt(event.length).putInt(checksum(event, 0, event.length))
                .put(event).array();
    }

    /** The event of the record at a place, or null if there is no sound one before {@code end}. */
    static byte[] read(RandomAccessFile file, long at, long end) throws IOException {
        long rest = end - at - HEAD;
        if (rest <= 0) {
            return null;
        }
        try {
            byte[] head = new byte[HEAD];
            file.seek(at);
            file.readFully(head);
            int length = ByteBuffer.wrap(head).getInt();
            int checksum = ByteBuffer.wrap(head).getInt(4);
            if (length <= 0 || length > Math.min(rest, LONGEST)) {
                return null;
            }
            byte[] event = new byte[length];
            for (int done = 0; done < length; done += PIECE) {
                file.readFully(event, done, Math.min(PIECE, length - done));
            }
            return checksum == checksum(event, 0, length) ? event : null;
        } catch (EOFException e) {
            return null;
        }
    }

    /** Whether the end of a file is a record that was never written whole: no sound record lies in it. */
    static boolean isCutOff(byte[] rest) {
        if (rest.length < HEAD || isAllZero(rest)) {
            return true;
        }
        return ByteBuffer.wrap(rest).getInt() > rest.length - HEAD && !holdsRecord(rest);
    }

    /** A file system may have made a file longer and not have come to writing it. */
    private static boolean isAllZero(byte[] bytes) {
        for (byte one : bytes) {
            if (one != 0) {
                return false;
            }
        }
        return true;
    }

    private static boolean holdsRecord(byte[] bytes) {
        for (int at = 1; at + HEAD + EVENT_BEGINS.length <= bytes.length; at++) {
            if (eventBegins(bytes, at + HEAD) && isRecord(bytes, at)) {
                return true;
            }
        }
        return false;
    }

    private static boolean eventBegins(byte[] bytes, int at) {
        for (int index = 0; index < EVENT_BEGINS.length; index++) {
            if (bytes[at + index] != EVENT_BEGINS[index]) {
                return false;
            }
        }
        return true;
    }

    private static boolean isRecord(byte[] bytes, int at) {
        ByteBuffer head = ByteBuffer.wrap(bytes, at, HEAD);
        int length = head.getInt();
        return length > 0 && length <= bytes.length - at - HEAD
                && head.getInt() == checksum(bytes, at + HEAD, length);
    }

    private static int checksum(byte[] bytes, int at, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, at, length);
        return (int) crc.getValue();
    }
}
