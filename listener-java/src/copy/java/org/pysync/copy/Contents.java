package org.pysync.copy;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;

/** The bytes of files: copied, compared. */
final class Contents {
    /** More than the streams' own buffers, which are gone round that way. */
    private static final int BLOCK = 1024 * 1024;

    private static final int BUFFER = 4096;

    private final Pace pace;
    private final Directories directories = new Directories();

    Contents(Pace pace) {
        this.pace = pace;
    }

    /**
     * Copy a file that has this size and time to a place below `top`; false, and nothing at the target, where it is not there any more or is
     * another one by now.
     */
    boolean copy(Place source, Place target, Place top, long size, long time) throws IOException {
        try {
            directories.make(source.at(source.path.getParent()), target.at(target.path.getParent()), top);
            if (pour(source, target, size) == size && isStill(source.status(), size, time)) {
                target.keepPermission(source.permission());
                keepTime(target, time);
                return true;
            }
        } catch (FileNotFoundException | EOFException error) {
            if (isStill(source.status(), size, time)) {
                throw error;
            }
        }
        target.files.delete(target.path, false);
        return false;
    }

    static boolean areSame(Place one, Place other) throws IOException {
        byte[] left = new byte[BLOCK];
        byte[] right = new byte[BLOCK];
        try (InputStream first = one.files.open(one.path, BUFFER);
                InputStream second = other.files.open(other.path, BUFFER)) {
            while (true) {
                int read = fill(first, left);
                if (read != fill(second, right) || !Arrays.equals(head(left, read), head(right, read))) {
                    return false;
                }
                if (read < BLOCK) {
                    return true;
                }
            }
        }
    }

    private long pour(Place source, Place target, long size) throws IOException {
        byte[] block = new byte[(int) Math.min(BLOCK, Math.max(BUFFER, size))];
        long copied = 0;
        try (InputStream in = source.files.open(source.path, BUFFER);
                OutputStream out = target.create(BUFFER)) {
            for (int read = in.read(block); read >= 0; read = in.read(block)) {
                out.write(block, 0, read);
                copied += read;
                pace.after(read);
            }
        }
        return copied;
    }

    private static boolean isStill(FileStatus now, long size, long time) {
        return now != null && now.getLen() == size && now.getModificationTime() == time;
    }

    /** By the time of its source a changed file is told best; object stores keep that of the copy, which is later. */
    private static void keepTime(Place target, long time) {
        try {
            target.files.setTimes(target.path, time, -1);
        } catch (IOException | UnsupportedOperationException other) {
            return;
        }
    }

    private static byte[] head(byte[] bytes, int length) {
        return length == bytes.length ? bytes : Arrays.copyOf(bytes, length);
    }

    /** Read until the block is full or the stream at its end; returns how much that was. */
    private static int fill(InputStream in, byte[] into) throws IOException {
        int filled = 0;
        for (int read = 0; read >= 0 && filled < into.length; filled += Math.max(read, 0)) {
            read = in.read(into, filled, into.length - filled);
        }
        return filled;
    }
}
