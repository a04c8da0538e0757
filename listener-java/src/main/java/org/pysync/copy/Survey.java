package org.pysync.copy;

import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** What one directory lacks to be like another. */
final class Survey {
    private final Place source;
    private final Place target;
    private final String compare;
    private final String underWay;

    /** `compare` is time, size or checksum; `underWay` is how files begin that are no leftovers. */
    Survey(Place source, Place target, String compare, String underWay) {
        this.source = source;
        this.target = target;
        this.compare = compare;
        this.underWay = underWay;
    }

    /** Add the lines of this pair of directories; removes what copies that were killed have left at the target. */
    void tell(int number, Lines answer) throws IOException {
        Listing wanted = new Listing(source);
        Listing there = new Listing(target);
        for (Path leftover : there.leftovers) {
            if (!leftover.getName().startsWith(underWay)) {
                target.files.delete(leftover, true);
            }
        }
        if (wanted.exists && !there.exists && wanted.files.isEmpty()) {
            target.files.mkdirs(target.path); // some readers take a directory that is not there for an error
        }
        int same = 0;
        for (Map.Entry<String, FileStatus> file : wanted.files.entrySet()) {
            FileStatus status = file.getValue();
            FileStatus old = there.files.remove(file.getKey());
            if (old != null && isSame(status, old)) {
                same++;
            } else {
                answer.add("copy", number, file.getKey(), status.getLen(), status.getModificationTime(), old != null);
            }
        }
        for (String extra : there.files.keySet()) {
            answer.add("extra", number, extra);
        }
        answer.add("pair", number, wanted.exists, wanted.fingerprint(), same);
    }

    private boolean isSame(FileStatus wanted, FileStatus there) throws IOException {
        if (wanted.getLen() != there.getLen()) {
            return false;
        }
        if ("checksum".equals(compare)) {
            return haveOneContent(wanted.getPath(), there.getPath());
        }
        return "size".equals(compare) || wanted.getModificationTime() <= there.getModificationTime();
    }

    /** By the checksums that the file systems keep, where both keep the same kind; else by reading both. */
    private boolean haveOneContent(Path wanted, Path there) throws IOException {
        FileChecksum one = source.files.getFileChecksum(wanted);
        FileChecksum other = target.files.getFileChecksum(there);
        if (one != null && other != null && one.getAlgorithmName().equals(other.getAlgorithmName())) {
            return one.equals(other);
        }
        return Contents.areSame(source.at(wanted), target.at(there));
    }
}
