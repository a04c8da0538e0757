package pysync.lab;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.hadoop.hive.ql.Driver;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.thrift.TBase;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;

/**
 * Any version of Hive from 2.3 on. It keeps much in thread-locals, so one thread does everything, whichever thread calls.
 */
public class HiveQueries {
    private static final String SEPARATOR = "\0";

    protected SessionState state;
    private final ExecutorService thread = Executors.newSingleThreadExecutor(HiveQueries::daemon);

    public HiveQueries() throws Exception {
        inThread(() -> {
            state = SessionState.start(new HiveConf(HiveQueries.class));
            return store().getAllDatabases();
        });
    }

    /** "OK" and the rows, or "FAILED" and why, each part ended by a zero. */
    public String run(String database, String statement) throws Exception {
        return inThread(() -> {
            try {
                return outcome(database, statement);
            } catch (Exception broken) {
                return failed("FAILED: " + broken);
            }
        });
    }

    /** A table as thrift bytes. */
    public byte[] table(String database, String name) throws Exception {
        return inThread(() -> bytes(store().getTable(database, name)));
    }

    private String outcome(String database, String statement) throws Exception {
        state.setCurrentDatabase(database);
        Driver driver = new Driver(state.getConf());
        try {
            String problem = problem(driver.run(statement));
            return problem == null ? "OK" + SEPARATOR + rows(driver) : failed(problem);
        } finally {
            driver.close();
            driver.destroy();
        }
    }

    /** Hive 2 and 3 answer with a code, Hive 4 throws. */
    private static String problem(Object response) throws Exception {
        for (Method method : response.getClass().getMethods()) {
            if (method.getName().equals("getResponseCode") && (int) method.invoke(response) != 0) {
                return (String) response.getClass().getMethod("getErrorMessage").invoke(response);
            }
        }
        return null;
    }

    /** Simple queries run only here. */
    private static String rows(Driver driver) throws Exception {
        StringBuilder rows = new StringBuilder();
        List<String> read = new ArrayList<>();
        while (driver.getResults(read)) {
            read.forEach(row -> rows.append(row).append(SEPARATOR));
            read.clear();
        }
        return rows.toString();
    }

    private static String failed(String reason) {
        return "FAILED" + SEPARATOR + reason + SEPARATOR;
    }

    protected static IMetaStoreClient store() throws Exception {
        return Hive.get(SessionState.getSessionConf()).getMSC();
    }

    protected static byte[] bytes(TBase<?, ?> struct) throws Exception {
        return new TSerializer(new TBinaryProtocol.Factory()).serialize(struct);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "hive");
        thread.setDaemon(true);
        thread.setContextClassLoader(HiveQueries.class.getClassLoader());
        return thread;
    }

    protected final <T> T inThread(Callable<T> work) throws Exception {
        try {
            return thread.submit(work).get();
        } catch (ExecutionException failed) {
            throw new Exception(failed.getCause().toString(), failed.getCause());
        }
    }
}
