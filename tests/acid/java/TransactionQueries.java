package pysync.lab;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.hive.conf.HiveConf;

/** With a metastore for others on the same database, settings of the session, and rounds of the compactor. */
public class TransactionQueries extends HiveQueries {
    private static final long COMPACTION_MS = 120_000;
    private final ClassLoader loader = HiveQueries.class.getClassLoader();

    public TransactionQueries() throws Exception {
    }

    /** Another session of the same Hive. */
    public TransactionQueries another() throws Exception {
        return new TransactionQueries();
    }

    /** Have later statements run with this setting. */
    public void set(String name, String value) throws Exception {
        inThread(() -> {
            state.getConf().set(name, value);
            return null;
        });
    }

    /** Answer thrift on that port, from a thread of its own. */
    public void serve(int port) throws Exception {
        Thread thread = new Thread(() -> {
            try {
                start(port, new HiveConf(HiveQueries.class));
            } catch (Throwable failed) {
                failed.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.setContextClassLoader(loader);
        thread.start();
    }

    /** One round of a Worker or Cleaner. */
    public void compact(String kind) throws Exception {
        Thread.currentThread().setContextClassLoader(loader);
        Class<?> type = Class.forName("org.apache.hadoop.hive.ql.txn.compactor." + kind);
        Thread thread = (Thread) type.getConstructor().newInstance();
        call(thread, "setConf", new HiveConf(HiveQueries.class));
        if (has(type, "setThreadId", 1)) {
            call(thread, "setThreadId", 1);
        }
        AtomicBoolean stops = new AtomicBoolean(true);
        if (has(type, "init", 2)) {
            call(thread, "init", stops, new AtomicBoolean());
        } else {
            call(thread, "init", stops);
        }
        thread.setContextClassLoader(loader);
        thread.start();
        thread.join(COMPACTION_MS);
        if (thread.isAlive()) {
            throw new IllegalStateException(kind + " has not ended");
        }
    }

    private static void start(int port, HiveConf conf) throws Exception {
        for (Method method : Class.forName("org.apache.hadoop.hive.metastore.HiveMetaStore").getMethods()) {
            if (method.getName().equals("startMetaStore") && method.getParameterCount() == 3) {
                method.invoke(null, port, bridge(method.getParameterTypes()[1]), conf);
                return;
            }
        }
        throw new NoSuchMethodException("startMetaStore");
    }

    private static Object bridge(Class<?> type) throws Exception {
        try {
            return type.getMethod("getBridge").invoke(null);
        } catch (NoSuchMethodException older) {
            return Class.forName("org.apache.hadoop.hive.shims.ShimLoader").getMethod("getHadoopThriftAuthBridge").invoke(null);
        }
    }

    private static boolean has(Class<?> type, String name, int arguments) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments) {
                return true;
            }
        }
        return false;
    }

    private static void call(Object on, String name, Object... arguments) throws Exception {
        for (Method method : on.getClass().getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                method.setAccessible(true);
                try {
                    method.invoke(on, arguments);
                } catch (InvocationTargetException failed) {
                    throw new Exception(failed.getCause().toString(), failed.getCause());
                }
                return;
            }
        }
        throw new NoSuchMethodException(name);
    }
}
