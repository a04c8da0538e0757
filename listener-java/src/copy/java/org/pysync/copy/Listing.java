package org.pysync.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** The files below a directory by their relative names, without what writers have under way. */
final class Listing {
    /** How the names of files begin that a copy has under way. */
    static final String UNFINISHED = ".pysync-copy-";

    private static final String[] TEMPORARY = {
        UNFINISHED, CopiedNames.FILE, ".hive-staging", ".spark-staging", "_temporary", "_tmp.", "_task_tmp.", "-ext-", "_impala_insert_staging"
    };

    /** Whether the directory is there. */
    final boolean exists;

    final Map<String, FileStatus> files = new TreeMap<>();

    /** The symbolic links by their relative names: nobody follows them, they may lead anywhere. */
    final Set<String> links = new TreeSet<>();

    /** What copies that were killed have left. */
    final List<Path> leftovers = new ArrayList<>();

    /** The directories that have a record of what was copied into them, each empty or ending with a slash. */
    private final List<String> recorded = new ArrayList<>();

    private final Place top;

    Listing(Place top) throws IOException {
        this.top = top;
        this.exists = walk("");
    }

    /** A number that is another one when a file has come, gone or changed. */
    long fingerprint() {
        long sum = 17;
        for (Map.Entry<String, FileStatus> file : files.entrySet()) {
            sum = 31 * (31 * sum + file.getKey().hashCode()) + file.getValue().getLen();
            sum = 31 * sum + file.getValue().getModificationTime();
        }
        return sum;
    }

    /** The relative names of the files that copies have brought here, whether they are still there or not. */
    Set<String> copied() throws IOException {
        Set<String> found = new TreeSet<>();
        for (String directory : recorded) {
            for (String name : CopiedNames.read(top.below(directory + CopiedNames.FILE))) {
                found.add(directory + name);
            }
        }
        return found;
    }

    private boolean walk(String below) throws IOException {
        Place directory = below.isEmpty() ? top : top.below(below);
        FileStatus[] found;
        Place real;
        try {
            found = directory.files.listStatus(directory.path);
            real = directory.behindView();
        } catch (FileNotFoundException gone) {
            return false;
        }
        for (FileStatus item : found) {
            note(below, item, real);
        }
        return true;
    }

    private void note(String below, FileStatus item, Place real) throws IOException {
        String name = item.getPath().getName();
        if (item.isSymlink() || real.isLocal() && real.below(name).isLocalLink()) {
            links.add(below + name);
            return;
        }
        if (name.startsWith(UNFINISHED)) {
            leftovers.add(item.getPath());
        }
        if (name.equals(CopiedNames.FILE) && !item.isDirectory()) {
            real.below(name).refuseSpecial();
            recorded.add(below);
        }
        if (isTemporary(name)) {
            return;
        }
        if (item.isDirectory()) {
            walk(below + name + "/");
        } else {
            real.below(name).refuseSpecial();
            files.put(below + name, item);
        }
    }

    private static boolean isTemporary(String name) {
        for (String start : TEMPORARY) {
            if (name.startsWith(start)) {
                return true;
            }
        }
        return name.startsWith(".") && name.endsWith(".crc"); // of Hadoop's local file system
    }
}
