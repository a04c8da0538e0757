package pysync.lab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.AddPartitionsRequest;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.NoSuchObjectException;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.ql.Context;
import org.apache.hadoop.hive.ql.Driver;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseUtils;
import org.apache.hadoop.hive.ql.processors.CommandProcessorResponse;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.thrift.TBase;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;

/**
 * Hive's compiler and a metastore in memory, for statements of DDL. Hive keeps much in thread-locals, so one thread does
 * everything, whichever thread calls. Metastore objects come and go as thrift bytes; null stands for one that is not
 * there.
 */
public final class HiveSession {
    private static final short ALL = -1;
    private static final String SEPARATOR = "\0";

    private final ExecutorService thread = Executors.newSingleThreadExecutor(HiveSession::daemon);
    private SessionState state;

    public HiveSession() throws Exception {
        inThread(() -> {
            state = SessionState.start(new HiveConf(HiveSession.class));
            return store().getAllDatabases();
        });
    }

    /** The statement's syntax tree: a line for each node, its depth and its text in base64; the parser's exception. */
    public String tree(String statement) throws Exception {
        return inThread(() -> {
            StringBuilder lines = new StringBuilder();
            Context context = new Context(state.getConf());  // without one, names in backticks are read differently
            try {
                write(ParseUtils.parse(statement, context), 0, lines);
            } finally {
                context.clear();
            }
            return lines.toString();
        });
    }

    /** "OK" and the rows, or "FAILED" and why, each part ended by a zero. */
    public String run(String database, String statement) throws Exception {
        return inThread(() -> {
            state.setCurrentDatabase(database);
            Driver driver = new Driver(state.getConf());
            try {
                return outcome(driver, statement);
            } finally {
                driver.close();
                driver.destroy();
            }
        });
    }

    public byte[] database(String name) throws Exception {
        return inThread(() -> {
            try {
                return bytes(store().getDatabase(name));
            } catch (NoSuchObjectException absent) {
                return null;
            }
        });
    }

    public void putDatabase(byte[] database) throws Exception {
        inThread(() -> {
            store().createDatabase(read(new Database(), database));
            return null;
        });
    }

    public void dropDatabase(String name) throws Exception {
        inThread(() -> {
            store().dropDatabase(name, false, true, true);
            return null;
        });
    }

    public byte[] table(String database, String name) throws Exception {
        return inThread(() -> {
            try {
                return bytes(store().getTable(database, name));
            } catch (NoSuchObjectException absent) {
                return null;
            }
        });
    }

    public void dropTable(String database, String name) throws Exception {
        inThread(() -> {
            store().dropTable(database, name, false, true);
            return null;
        });
    }

    /** Put a table, and the partitions that the request adds to it, in the place of what has its name. */
    public void putTable(byte[] table, byte[] partitions) throws Exception {
        inThread(() -> {
            Table read = read(new Table(), table);
            store().dropTable(read.getDbName(), read.getTableName(), false, true);
            store().createTable(read);
            AddPartitionsRequest added = read(new AddPartitionsRequest(), partitions);
            if (!added.getParts().isEmpty()) {
                store().add_partitions(added.getParts(), false, false);
            }
            return null;
        });
    }

    /** The partitions of a table, as a request that would add them. */
    public byte[] partitions(String database, String table) throws Exception {
        return inThread(() -> bytes(new AddPartitionsRequest(
                database, table, store().listPartitions(database, table, ALL), false)));
    }

    private static String outcome(Driver driver, String statement) throws Exception {
        CommandProcessorResponse response = driver.run(statement);
        if (response.getResponseCode() != 0) {
            return failed(response.getErrorMessage());
        }
        List<String> rows = new ArrayList<>(List.of("OK"));
        List<String> read = new ArrayList<>();
        try {  // simple queries run only here
            while (driver.getResults(read)) {
                rows.addAll(read);
                read.clear();
            }
        } catch (IOException | RuntimeException broken) {
            return failed("FAILED: " + broken);
        }
        return String.join(SEPARATOR, rows) + SEPARATOR;
    }

    private static String failed(String reason) {
        return "FAILED" + SEPARATOR + reason + SEPARATOR;
    }

    private static void write(ASTNode node, int depth, StringBuilder lines) {
        if (node.getText() != null) {
            byte[] text = node.getText().getBytes(StandardCharsets.UTF_8);
            lines.append(depth).append(' ').append(Base64.getEncoder().encodeToString(text)).append('\n');
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            write((ASTNode) node.getChild(i), node.getText() == null ? depth : depth + 1, lines);
        }
    }

    private static IMetaStoreClient store() throws Exception {
        return Hive.get(SessionState.getSessionConf()).getMSC();
    }

    private static byte[] bytes(TBase<?, ?> struct) throws Exception {
        return new TSerializer(new TBinaryProtocol.Factory()).serialize(struct);
    }

    private static <T extends TBase<?, ?>> T read(T struct, byte[] bytes) throws Exception {
        new TDeserializer(new TBinaryProtocol.Factory()).deserialize(struct, bytes);
        return struct;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "hive");
        thread.setDaemon(true);
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
