package org.pysync.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
    @Test
    void nothingSaidIsUsable() {
        Settings found = with();
        assertEquals("127.0.0.1:25333", found.address());
        assertEquals(500, found.deadlineMs);
        assertFalse(found.source.isEmpty());
        assertTrue(found.spoolDir.isAbsolute());
    }

    @Test
    void whatIsSaidIsTakenWithoutItsSpaces() {
        Settings found = with("pysync.source.name", " west ", "pysync.deadline.ms", " 20 ", "pysync.spool.dir", "/a/b");
        assertEquals("west", found.source);
        assertEquals(20, found.deadlineMs);
        assertEquals(Paths.get("/a/b"), found.spoolDir);
    }

    @ParameterizedTest
    @CsvSource({
        "pysync.bridge.port, 0", "pysync.bridge.port, 65536", "pysync.bridge.port, many", "pysync.deadline.ms, -1",
        "pysync.deadline.ms, 99999999999999999999", "pysync.spool.max.bytes, 1", "pysync.idle.ms, 1.5", "pysync.synchronous, perhaps",
        "pysync.spool.dir, a\0b"})
    void whatMakesNoSenseIsTheDefault(String key, String value) {
        assertEquals(with(), with(key, value));
    }

    @Test
    void equalOnesAreOneAndOthersAreNot() {
        assertEquals(with("pysync.bridge.port", "7"), with("pysync.bridge.port", " 7"));
        assertEquals(with().hashCode(), with().hashCode());
        assertNotEquals(with(), with("pysync.bridge.port", "7"));
        assertNotEquals(with(), with("pysync.idle.ms", "7"));
        assertEquals(with(), with("pysync.synchronous", "false"));
        assertNotEquals(with(), with("pysync.synchronous", " TRUE "));
    }

    private static Settings with(String... pairs) {
        Configuration conf = new Configuration(false) {
            @Override
            public String get(String key) {
                for (int at = 0; at < pairs.length; at += 2) {
                    if (pairs[at].equals(key)) {
                        return pairs[at + 1];
                    }
                }
                return null;
            }
        };
        return Settings.from(conf);
    }
}
