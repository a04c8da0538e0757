package org.pysync.listener;

/**
 * The version of Hive that this metastore is of, such as 3.1.3: the sidecar reads views by it.
 *
 * <p>Promise: it never throws. Its classes are those of the metastore: which one there is depends on the version.
 */
final class HiveVersion {
    private static final String[] TOLD_BY = {
        "org.apache.hadoop.hive.metastore.utils.MetastoreVersionInfo", // since Hive 3
        "org.apache.hive.common.util.HiveVersionInfo",
    };
    private static final int LONGEST = 64;

    private HiveVersion() {
    }

    /** The version; "" if none of the classes tells one. */
    static String find() {
        for (String name : TOLD_BY) {
            String told = toldBy(name);
            if (!told.isEmpty() && Character.isDigit(told.charAt(0)) && told.length() <= LONGEST) {
                return told;
            }
        }
        return "";
    }

    private static String toldBy(String name) {
        try {
            return String.valueOf(Class.forName(name).getMethod("getVersion").invoke(null));
        } catch (Exception | LinkageError noSuchClass) {
            return "";
        }
    }
}
