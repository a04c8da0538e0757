package org.pysync.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/**
 * The names of the files that copies have brought into a directory, in a hidden file of that directory. Only these files
 * may be removed or replaced. A name is recorded before its file comes, and forgotten after it has gone. If the record is
 * lost, files stay.
 */
final class CopiedNames {
    static final String FILE = ".pysync-copied";

    private static final int BUFFER = 4096;

    private CopiedNames() {
    }

    /** The names in a record; none where it is not there, or is not one. */
    static Set<String> read(Place record) throws IOException {
        StringBuilder text = new StringBuilder();
        try (InputStream in = record.files.open(record.path, BUFFER);
                Reader reader = new InputStreamReader(in, StandardCharsets.UTF_8)) {
            char[] block = new char[BUFFER];
            for (int read = reader.read(block); read >= 0; read = reader.read(block)) {
                text.append(block, 0, read);
            }
        } catch (FileNotFoundException absent) {
            return new TreeSet<>();
        }
        return names(text.toString());
    }

    static void add(Place record, Collection<String> names) throws IOException {
        Set<String> all = read(record);
        if (all.addAll(names)) {
            write(record, all);
        }
    }

    static void remove(Place record, Collection<String> names) throws IOException {
        Set<String> all = read(record);
        if (all.removeAll(names)) {
            write(record, all);
        }
    }

    private static Set<String> names(String text) {
        Set<String> names = new TreeSet<>();
        try {
            for (String[] line : Lines.read(text)) {
                names.add(line[0]);
            }
        } catch (IllegalArgumentException damaged) {
            return new TreeSet<>();
        }
        return names;
    }

    private static void write(Place record, Set<String> names) throws IOException {
        Lines lines = new Lines();
        names.forEach(lines::add);
        String unfinished = Listing.UNFINISHED + "record-" + UUID.randomUUID();
        Place written = record.at(record.path.getParent()).below(unfinished);
        try (OutputStream out = written.create(BUFFER)) {
            out.write(lines.toString().getBytes(StandardCharsets.UTF_8));
        }
        written.keepPermission(null);
        if (!written.replace(record)) {
            throw new IOException(written.path + " has disappeared");
        }
    }
}
