package org.pysync.copy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.AccessControlException;

/** What one directory lacks to be like another. */
final class Survey {
    private final Place source;
    private final Place target;
    private final String compare;
    private final String underWay;

    /** `compare` is time, size or checksum; `underWay` is how files begin that are no leftovers; empty: change nothing. */
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
        if (!underWay.isEmpty()) {
            prepare(wanted, there);
        }
        refuseInTheWay(wanted, there);
        for (String link : wanted.links) {
            answer.add("link", number, source.below(link).path);
        }
        for (String link : there.links) {
            answer.add("link", number, target.below(link).path);
        }
        Set<String> same = same(wanted, there);
        Set<String> copied = there.copied();
        for (String name : copied) {
            if (!there.files.containsKey(name) && !wanted.files.containsKey(name)) {
                answer.add("stale", number, name);
            }
        }
        for (Map.Entry<String, FileStatus> file : wanted.files.entrySet()) {
            FileStatus status = file.getValue();
            FileStatus old = there.files.remove(file.getKey());
            boolean isCopied = copied.contains(file.getKey());
            if (!same.contains(file.getKey())) {
                String state = old == null ? "none" : isCopied ? "copied" : "foreign";
                answer.add("copy", number, file.getKey(), status.getLen(), status.getModificationTime(), state);
            } else if (!isCopied) {
                answer.add("unrecorded", number, file.getKey());
            }
        }
        for (Map.Entry<String, FileStatus> extra : there.files.entrySet()) {
            String what = copied.contains(extra.getKey()) ? "extra" : "foreign";
            answer.add(what, number, extra.getKey(), extra.getValue().getLen());
        }
        answer.add("pair", number, wanted.exists, wanted.fingerprint(), same.size());
    }

    private void prepare(Listing wanted, Listing there) throws IOException {
        for (Path leftover : there.leftovers) {
            if (!leftover.getName().startsWith(underWay)) {
                target.files.delete(leftover, true);
            }
        }
        if (wanted.exists && !there.exists && wanted.files.isEmpty()) {
            new Directories().make(source, target, target); // some readers take a missing directory for an error
        }
    }

    /** A file is never written where a link is, nor behind one. */
    private void refuseInTheWay(Listing wanted, Listing there) throws IOException {
        for (String link : there.links) {
            for (String name : wanted.files.keySet()) {
                if (name.equals(link) || name.startsWith(link + "/")) {
                    throw new AccessControlException(target.below(link).path + " is a symbolic link");
                }
            }
        }
    }

    /** The names of the files that are there already. */
    private Set<String> same(Listing wanted, Listing there) throws IOException {
        List<Callable<String>> work = new ArrayList<>();
        for (Map.Entry<String, FileStatus> file : wanted.files.entrySet()) {
            FileStatus old = there.files.get(file.getKey());
            if (old != null) {
                work.add(() -> isSame(file.getValue(), old) ? file.getKey() : null);
            }
        }
        Set<String> same = new HashSet<>("checksum".equals(compare) ? Crew.each(work) : Crew.inTurn(work));
        same.remove(null);
        return same;
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

    /**
     * By the checksums that the file systems keep, where these are equal; else by reading both, up to where they differ:
     * checksums also tell of sizes of blocks, of encryption and of how a file came into an object store.
     */
    private boolean haveOneContent(Path wanted, Path there) throws IOException {
        FileChecksum one = source.files.getFileChecksum(wanted);
        FileChecksum other = target.files.getFileChecksum(there);
        if (one != null && one.equals(other)) {
            return true;
        }
        return Contents.areSame(source.at(wanted), target.at(there));
    }
}
