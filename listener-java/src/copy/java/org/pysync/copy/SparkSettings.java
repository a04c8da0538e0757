package org.pysync.copy;

import static java.lang.invoke.MethodType.methodType;

import java.lang.invoke.MethodHandles;
import org.apache.hadoop.conf.Configuration;

/**
 * The settings and credentials of the Spark that this runs in, for Hadoop.
 *
 * <p>Spark is reached by method handles: the jar must load in a metastore that has none, and reflection proper would load
 * all classes that Spark's methods name, some of which are in jars of another loader.
 */
final class SparkSettings {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.publicLookup();

    private static Object environment;
    private static Configuration configuration;

    private SparkSettings() {
    }

    /** Those of the session that runs now; Hadoop's own outside of Spark. */
    static synchronized Configuration now() {
        Object current = environment();
        if (configuration == null || current != environment) {
            configuration = tuned(current == null ? new Configuration() : of(current));
            environment = current;
        }
        return configuration;
    }

    /**
     * A file of HDFS is closed when its data node has told the name node of it. Hadoop looks a second time after 0.4 s,
     * which is most of what a small file costs; here it looks sooner, and more often, so that it waits no less in all.
     */
    private static Configuration tuned(Configuration settings) {
        ofClosing(settings, "initial.delay.ms", 400, 10);
        ofClosing(settings, "retries", 5, 11);
        return settings;
    }

    /** What an operator has set stays. */
    private static void ofClosing(Configuration settings, String name, int usual, int better) {
        String key = "dfs.client.block.write.locateFollowingBlock." + name;
        if (settings.getInt(key, usual) == usual) {
            settings.setInt(key, better);
        }
    }

    private static Object environment() {
        try {
            Class<?> type = loaded("org.apache.spark.SparkEnv");
            return LOOKUP.findStatic(type, "get", methodType(type)).invoke();
        } catch (Throwable noSpark) {
            return null;
        }
    }

    private static Configuration of(Object environment) {
        try {
            Class<?> settings = loaded("org.apache.spark.SparkConf");
            Class<?> util = loaded("org.apache.spark.deploy.SparkHadoopUtil");
            Object found = LOOKUP.findVirtual(environment.getClass(), "conf", methodType(settings)).invoke(environment);
            Object one = LOOKUP.findStatic(util, "get", methodType(util)).invoke();
            return (Configuration) LOOKUP
                    .findVirtual(util, "newConfiguration", methodType(Configuration.class, settings))
                    .invoke(one, found);
        } catch (Throwable other) {
            throw new IllegalStateException("this Spark does not tell its settings for Hadoop", other);
        }
    }

    private static Class<?> loaded(String name) throws ClassNotFoundException {
        return Class.forName(name, true, Thread.currentThread().getContextClassLoader());
    }
}
