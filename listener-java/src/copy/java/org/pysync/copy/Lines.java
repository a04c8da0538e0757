package org.pysync.copy;

import java.io.UnsupportedEncodingException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.List;

/**
 * Requests and answers as text: a line each record, its fields divided by tabs. Fields are URL-encoded, because names of
 * files may hold anything.
 */
final class Lines {
    private static final String UTF8 = "UTF-8";

    private final StringBuilder text = new StringBuilder();

    /** The records of a text. */
    static List<String[]> read(String text) {
        List<String[]> records = new ArrayList<>();
        for (String line : text.split("\n")) {
            if (!line.isEmpty()) {
                records.add(fields(line));
            }
        }
        return records;
    }

    /** Add a record. */
    Lines add(Object... fields) {
        for (int at = 0; at < fields.length; at++) {
            text.append(at == 0 ? "" : "\t").append(encoded(String.valueOf(fields[at])));
        }
        text.append('\n');
        return this;
    }

    @Override
    public String toString() {
        return text.toString();
    }

    private static String[] fields(String line) {
        String[] fields = line.split("\t", -1);
        try {
            for (int at = 0; at < fields.length; at++) {
                fields[at] = URLDecoder.decode(fields[at], UTF8);
            }
        } catch (UnsupportedEncodingException impossible) {
            throw new IllegalStateException(impossible);
        }
        return fields;
    }

    private static String encoded(String field) {
        try {
            return URLEncoder.encode(field, UTF8);
        } catch (UnsupportedEncodingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
