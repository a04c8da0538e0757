package org.pysync.listener;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys {@code pysync.*} of hive-site.xml.
 *
 * <p>Promise: always usable. A value that makes no sense is named in one log line and the default taken.
 * Equal settings share one {@link Delivery}.
 */
final class Settings {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);

    final String source;
    final String host;
    final int port;
    final Path tokenFile;
    final Path spoolDir;
    final long spoolMaxBytes;
    final int deadlineMs;
    final int idleMs;
    final boolean synchronous;

    private Settings(Configuration conf) {
        source = text(conf, "pysync.source.name", null);
        host = text(conf, "pysync.bridge.host", "127.0.0.1");
        port = (int) number(conf, "pysync.bridge.port", 25333, 1, 65535);
        tokenFile = path(conf, "pysync.bridge.token.file", "/etc/pysync/token");
        spoolDir = path(conf, "pysync.spool.dir", "/var/lib/pysync/spool");
        spoolMaxBytes = number(conf, "pysync.spool.max.bytes", 1L << 30, Spool.LEAST_BYTES, Spool.MOST_BYTES);
        deadlineMs = (int) number(conf, "pysync.deadline.ms", 500, 1, 600_000);
        idleMs = (int) number(conf, "pysync.idle.ms", 10_000, 0, 86_400_000);
        synchronous = truth(conf, "pysync.synchronous", false);
    }

    static Settings from(Configuration conf) {
        return new Settings(conf);
    }

    /** Where the sidecar is, for log lines. */
    String address() {
        return host + ":" + port;
    }

    private List<Object> values() {
        return Arrays.asList(source, host, port, tokenFile, spoolDir, spoolMaxBytes, deadlineMs, idleMs, synchronous);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Settings && values().equals(((Settings) other).values());
    }

    @Override
    public int hashCode() {
        return values().hashCode();
    }

    private static String text(Configuration conf, String key, String fallback) {
        String value = conf.get(key);
        if (value != null && !value.trim().isEmpty()) {
            return value.trim();
        }
        return fallback == null ? hostName() : fallback;
    }

    private static Path path(Configuration conf, String key, String fallback) {
        String value = text(conf, key, fallback);
        try {
            return Paths.get(value).toAbsolutePath();
        } catch (IllegalArgumentException e) {
            LOG.error("pysync: {} is not a path; using {}: correct it in hive-site.xml", key, fallback);
            return Paths.get(fallback);
        }
    }

    private static long number(Configuration conf, String key, long fallback, long least, long most) {
        String value = text(conf, key, Long.toString(fallback));
        try {
            long number = Long.parseLong(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, with the numbers that are out of range.
        }
        LOG.error("pysync: {} = '{}' is not a number from {} to {}; using {}: correct it in hive-site.xml",
                key, value, least, most, fallback);
        return fallback;
    }

    private static boolean truth(Configuration conf, String key, boolean fallback) {
        String value = text(conf, key, Boolean.toString(fallback));
        if (value.equalsIgnoreCase("true") || value.equalsIgnoreCase("false")) {
            return Boolean.parseBoolean(value);
        }
        LOG.error("pysync: {} = '{}' is not true or false; using {}: correct it in hive-site.xml", key, value, fallback);
        return fallback;
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "metastore";
        }
    }
}
