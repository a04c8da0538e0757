package org.pysync.listener;

/**
 * The version of Hive that this metastore is of, such as 3.1.3: the sidecar reads views by it.
 *
 * <p>Promise: it never throws. Its classes are those of the metastore: which one there is depends on the version.
 */
final class HiveVersion {
    private static final String[] CLASSES = {
        "org.apache.hadoop.hive.metastore.utils.MetastoreVersionInfo", // since Hive 3
        "org.apache.hive.common.util.HiveVersionInfo",
    };
    private static final int LONGEST = 64;

    private HiveVersion() {
    }

    /** The version; "" if none of the classes has one. */
    static String find() {
        for (String name : CLASSES) {
            String version = versionOf(name);
            if (!version.isEmpty() && Character.isDigit(version.charAt(0)) && version.length() <= LONGEST) {
                return version;
            }
        }
        return "";
    }

    private static String versionOf(String name) {
        try {
            return String.valueOf(Class.forName(name).getMethod("getVersion").invoke(null));
        } catch (Exception | LinkageError noSuchClass) {
            return "";
        }
    }
}
