package org.pysync.copy;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Makes the directories of a copy, with the permissions of those at the source. */
final class Directories {
    private final Set<String> made = ConcurrentHashMap.newKeySet();

    /** Make `target`, the counterpart of the directory `source`; `top` is the highest directory that has one. */
    void make(Place source, Place target, Place top) throws IOException {
        String path = target.path.toString();
        if (made.contains(path)) {
            return;
        }
        if (target.status() == null) {
            if (!path.equals(top.path.toString())) {
                make(source.at(source.path.getParent()), target.at(target.path.getParent()), top);
            }
            target.makeDirectory(source.permission());
        }
        made.add(path);
    }
}
