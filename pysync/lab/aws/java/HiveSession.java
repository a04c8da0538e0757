package pysync.lab;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.hadoop.hive.metastore.api.AddPartitionsRequest;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.NoSuchObjectException;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.ql.Context;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseUtils;
import org.apache.thrift.TBase;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.protocol.TBinaryProtocol;

/**
 * Hive's compiler and a metastore in memory, for statements of DDL. Metastore objects come and go as thrift bytes; null
 * stands for one that is not there.
 */
public final class HiveSession extends HiveQueries {
    private static final short ALL = -1;

    public HiveSession() throws Exception {
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

    @Override
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

    private static void write(ASTNode node, int depth, StringBuilder lines) {
        if (node.getText() != null) {
            byte[] text = node.getText().getBytes(StandardCharsets.UTF_8);
            lines.append(depth).append(' ').append(Base64.getEncoder().encodeToString(text)).append('\n');
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            write((ASTNode) node.getChild(i), node.getText() == null ? depth : depth + 1, lines);
        }
    }

    private static <T extends TBase<?, ?>> T read(T struct, byte[] bytes) throws Exception {
        new TDeserializer(new TBinaryProtocol.Factory()).deserialize(struct, bytes);
        return struct;
    }
}
