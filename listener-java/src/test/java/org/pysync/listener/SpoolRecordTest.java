package org.pysync.listener;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpoolRecordTest {
    /** Begins as every event does. */
    private static final byte[] EVENT = {6, 0, 1, 0, 1, 11, 0, 2, 42, -1, 0, 7};

    @TempDir
    Path directory;

    @Test
    void whatWasWrittenIsRead() throws IOException {
        byte[] both = joined(SpoolRecord.of(EVENT), SpoolRecord.of(new byte[] {9}));
        assertArrayEquals(EVENT, read(both, 0, both.length));
        assertArrayEquals(new byte[] {9}, read(both, SpoolRecord.of(EVENT).length, both.length));
    }

    @Test
    void noneIsReadBeyondTheEndThatIsTold() throws IOException {
        byte[] record = SpoolRecord.of(EVENT);
        for (int end = 0; end < record.length; end++) {
            assertNull(read(record, 0, end), "up to " + end);
        }
    }

    @Test
    void everyByteThatIsAnotherIsNoticed() throws IOException {
        byte[] record = SpoolRecord.of(EVENT);
        for (int at = 0; at < record.length; at++) {
            byte[] damaged = record.clone();
            damaged[at] ^= 1;
            assertNull(read(damaged, 0, damaged.length), "byte " + at);
        }
    }

    @Test
    void aDamagedLengthAsksForNoMemory() throws IOException {
        for (int length : new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, SpoolRecord.LONGEST + 1}) {
            byte[] record = SpoolRecord.of(EVENT);
            ByteBuffer.wrap(record).putInt(length);
            assertNull(read(record, 0, 1L << 40), "length " + length);
        }
    }

    @Test
    void aRecordThatWasNotWrittenWholeIsCutOff() {
        byte[] record = SpoolRecord.of(EVENT);
        for (int length = 0; length < record.length; length++) {
            assertTrue(SpoolRecord.isCutOff(Arrays.copyOf(record, length)), length + " bytes");
        }
        assertTrue(SpoolRecord.isCutOff(new byte[4096]), "a file that was only made longer");
    }

    @Test
    void aDamagedRecordBeforeASoundOneIsNot() {
        byte[] damaged = SpoolRecord.of(EVENT);
        ByteBuffer.wrap(damaged).putInt(1_000_000);
        assertTrue(SpoolRecord.isCutOff(damaged));
        assertFalse(SpoolRecord.isCutOff(joined(damaged, SpoolRecord.of(EVENT))));
        assertFalse(SpoolRecord.isCutOff(SpoolRecord.of(EVENT)), "it is whole");
    }

    @Test
    void largeAndOddEventsComeBack() throws IOException {
        Random random = new Random(7);
        for (int length : new int[] {1, 7, 8, 9, 1000, 300_000}) {
            byte[] event = new byte[length];
            random.nextBytes(event);
            byte[] record = SpoolRecord.of(event);
            assertEquals(SpoolRecord.HEAD + length, record.length);
            assertArrayEquals(event, read(record, 0, record.length));
        }
    }

    private byte[] read(byte[] bytes, long at, long end) throws IOException {
        Path file = Files.write(directory.resolve("spool"), bytes);
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "r")) {
            return SpoolRecord.read(open, at, end);
        }
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.write(part, 0, part.length);
        }
        return all.toByteArray();
    }
}
