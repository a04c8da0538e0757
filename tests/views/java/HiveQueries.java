package pysync.lab;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.Driver;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;

/**
 * Any version of Hive from 2.3 on, for queries. Hive keeps much in thread-locals, so one thread does everything.
 */
public final class HiveQueries {
    private static final String SEPARATOR = "\0";

    private final ExecutorService thread = Executors.newSingleThreadExecutor(HiveQueries::daemon);
    private SessionState state;

    public HiveQueries() throws Exception {
        inThread(() -> {
            state = SessionState.start(new HiveConf(HiveQueries.class));
            return Hive.get(state.getConf()).getMSC().getAllDatabases();
        });
    }

    /** "OK" and the rows, or "FAILED" and why, each part ended by a zero. */
    public String run(String database, String statement) {
        try {
            return "OK" + SEPARATOR + result(database, statement);
        } catch (Exception refused) {
            return "FAILED" + SEPARATOR + refused.getMessage() + SEPARATOR;
        }
    }

    private String result(String database, String statement) throws Exception {
        return inThread(() -> {
            state.setCurrentDatabase(database);
            Driver driver = new Driver(state.getConf());
            try {
                assertDone(driver.run(statement));
                return rows(driver);
            } finally {
                driver.close();
                driver.destroy();
            }
        });
    }

    /** A table as thrift bytes. */
    public byte[] table(String database, String name) throws Exception {
        return inThread(() -> new TSerializer(new TBinaryProtocol.Factory())
                .serialize(Hive.get(state.getConf()).getMSC().getTable(database, name)));
    }

    /** Hive 2 and 3 answer with a code, Hive 4 throws. */
    private static void assertDone(Object response) throws Exception {
        for (Method method : response.getClass().getMethods()) {
            if (method.getName().equals("getResponseCode") && (int) method.invoke(response) != 0) {
                throw new Exception((String) response.getClass().getMethod("getErrorMessage").invoke(response));
            }
        }
    }

    private static String rows(Driver driver) throws Exception {
        StringBuilder rows = new StringBuilder();
        List<String> read = new ArrayList<>();
        while (driver.getResults(read)) {
            read.forEach(row -> rows.append(row).append(SEPARATOR));
            read.clear();
        }
        return rows.toString();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "hive");
        thread.setDaemon(true);
        thread.setContextClassLoader(HiveQueries.class.getClassLoader());
        return thread;
    }

    private <T> T inThread(Callable<T> work) throws Exception {
        try {
            return thread.submit(work).get();
        } catch (ExecutionException failed) {
            throw new Exception(failed.getCause().toString(), failed.getCause());
        }
    }
}
