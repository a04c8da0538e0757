package org.pysync.listener;

import java.sql.Connection;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.MetaStoreEventListener;
import org.apache.hadoop.hive.metastore.events.AddCheckConstraintEvent;
import org.apache.hadoop.hive.metastore.events.AddDefaultConstraintEvent;
import org.apache.hadoop.hive.metastore.events.AddForeignKeyEvent;
import org.apache.hadoop.hive.metastore.events.AddNotNullConstraintEvent;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AddPrimaryKeyEvent;
import org.apache.hadoop.hive.metastore.events.AddUniqueConstraintEvent;
import org.apache.hadoop.hive.metastore.events.AlterCatalogEvent;
import org.apache.hadoop.hive.metastore.events.AlterDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.AlterPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterTableEvent;
import org.apache.hadoop.hive.metastore.events.CreateCatalogEvent;
import org.apache.hadoop.hive.metastore.events.CreateDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.CreateFunctionEvent;
import org.apache.hadoop.hive.metastore.events.CreateTableEvent;
import org.apache.hadoop.hive.metastore.events.DeletePartitionColumnStatEvent;
import org.apache.hadoop.hive.metastore.events.DeleteTableColumnStatEvent;
import org.apache.hadoop.hive.metastore.events.DropCatalogEvent;
import org.apache.hadoop.hive.metastore.events.DropConstraintEvent;
import org.apache.hadoop.hive.metastore.events.DropDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.DropFunctionEvent;
import org.apache.hadoop.hive.metastore.events.DropPartitionEvent;
import org.apache.hadoop.hive.metastore.events.DropTableEvent;
import org.apache.hadoop.hive.metastore.events.InsertEvent;
import org.apache.hadoop.hive.metastore.events.ListenerEvent;
import org.apache.hadoop.hive.metastore.events.UpdatePartitionColumnStatEvent;
import org.apache.hadoop.hive.metastore.events.UpdatePartitionColumnStatEventBatch;
import org.apache.hadoop.hive.metastore.events.UpdateTableColumnStatEvent;
import org.apache.hadoop.hive.metastore.tools.SQLGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands every committed change of the metastore to the sidecar.
 *
 * <p>Promise: never throws into the metastore, never blocks its start, and holds a call no longer than the
 * deadline. Set as {@code hive.metastore.event.listeners}; may be constructed any number of times.
 *
 * <p>One class for Hive 2.3, 3.1 and 4.x: event types that 2.3 lacks appear only as parameter types and are
 * handed on as {@code Object}, because any typed use makes the verifier load them; so their callbacks carry
 * no {@code @Override} either. The lambdas run only when such an event really comes.
 */
public class SidecarListener extends MetaStoreEventListener {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);

    /** Hive has an event for each way in which they change; the sidecar reads what they are. */
    private static final String STATISTICS = "COLUMN_STATISTICS";

    private final Delivery delivery;

    public SidecarListener(Configuration conf) {
        super(conf);
        this.delivery = startQuietly(conf);
    }

    @Override
    public void onCreateDatabase(CreateDatabaseEvent event) {
        forward("CREATE_DATABASE", event, draft -> draft.after(event.getDatabase()));
    }

    public void onAlterDatabase(AlterDatabaseEvent event) {
        forward("ALTER_DATABASE", event,
                draft -> draft.before(event.getOldDatabase()).after(event.getNewDatabase()));
    }

    @Override
    public void onDropDatabase(DropDatabaseEvent event) {
        forward("DROP_DATABASE", event, draft -> draft.before(event.getDatabase()));
    }

    @Override
    public void onCreateTable(CreateTableEvent event) {
        forward("CREATE_TABLE", event, draft -> draft.after(event.getTable()));
    }

    @Override
    public void onAlterTable(AlterTableEvent event) {
        forward("ALTER_TABLE", event,
                draft -> draft.before(event.getOldTable()).after(event.getNewTable()).truncate(event));
    }

    @Override
    public void onDropTable(DropTableEvent event) {
        forward("DROP_TABLE", event,
                draft -> draft.before(event.getTable()).attribute("delete_data", event.getDeleteData()));
    }

    @Override
    public void onAddPartition(AddPartitionEvent event) {
        forward("ADD_PARTITION", event,
                draft -> draft.table(event.getTable()).allAfter(event.getPartitionIterator()));
    }

    @Override
    public void onAlterPartition(AlterPartitionEvent event) {
        forward("ALTER_PARTITION", event, draft -> draft.table(event.getTable())
                .before(event.getOldPartition()).after(event.getNewPartition()).truncate(event));
    }

    @Override
    public void onDropPartition(DropPartitionEvent event) {
        forward("DROP_PARTITION", event, draft -> draft.table(event.getTable())
                .allBefore(event.getPartitionIterator()).attribute("delete_data", event.getDeleteData()));
    }

    @Override
    public void onInsert(InsertEvent event) {
        forward("INSERT", event, draft -> draft.insert(event));
    }

    @Override
    public void onCreateFunction(CreateFunctionEvent event) {
        forward("CREATE_FUNCTION", event, draft -> draft.after(event.getFunction()));
    }

    @Override
    public void onDropFunction(DropFunctionEvent event) {
        forward("DROP_FUNCTION", event, draft -> draft.before(event.getFunction()));
    }

    public void onAddPrimaryKey(AddPrimaryKeyEvent event) {
        forward("ADD_PRIMARYKEY", event, draft -> draft.allAfter(event.getPrimaryKeyCols()));
    }

    public void onAddForeignKey(AddForeignKeyEvent event) {
        forward("ADD_FOREIGNKEY", event, draft -> draft.allAfter(event.getForeignKeyCols()));
    }

    public void onAddUniqueConstraint(AddUniqueConstraintEvent event) {
        forward("ADD_UNIQUECONSTRAINT", event, draft -> draft.allAfter(event.getUniqueConstraintCols()));
    }

    public void onAddNotNullConstraint(AddNotNullConstraintEvent event) {
        forward("ADD_NOTNULLCONSTRAINT", event, draft -> draft.allAfter(event.getNotNullConstraintCols()));
    }

    public void onAddDefaultConstraint(AddDefaultConstraintEvent event) {
        forward("ADD_DEFAULTCONSTRAINT", event, draft -> draft.allAfter(event.getDefaultConstraintCols()));
    }

    public void onAddCheckConstraint(AddCheckConstraintEvent event) {
        forward("ADD_CHECKCONSTRAINT", event, draft -> draft.allAfter(event.getCheckConstraintCols()));
    }

    public void onDropConstraint(DropConstraintEvent event) {
        forward("DROP_CONSTRAINT", event, draft -> draft.catalog(event.getCatName())
                .attribute("database", event.getDbName()).attribute("table", event.getTableName())
                .attribute("constraint", event.getConstraintName()));
    }

    public void onCreateCatalog(CreateCatalogEvent event) {
        forward("CREATE_CATALOG", event, draft -> draft.after(event.getCatalog()));
    }

    public void onAlterCatalog(AlterCatalogEvent event) {
        forward("ALTER_CATALOG", event,
                draft -> draft.before(event.getOldCatalog()).after(event.getNewCatalog()));
    }

    public void onDropCatalog(DropCatalogEvent event) {
        forward("DROP_CATALOG", event, draft -> draft.before(event.getCatalog()));
    }

    public void onUpdateTableColumnStat(UpdateTableColumnStatEvent event) {
        forward(STATISTICS, event, draft -> draft.statistics(event.getTableObj(), event.getColStats()));
    }

    public void onUpdatePartitionColumnStat(UpdatePartitionColumnStatEvent event) {
        forward(STATISTICS, event, draft -> draft.statistics(event.getTableObj(), event.getPartColStats()));
    }

    public void onUpdatePartitionColumnStatInBatch(
            UpdatePartitionColumnStatEventBatch event, Connection connection, SQLGenerator generator) {
        forward(STATISTICS, event, draft -> {
            for (int index = 0; index < event.getNumEntries(); index++) {
                draft.statistics(event.getPartColStatEvent(index).getTableObj(),
                        event.getPartColStatEvent(index).getPartColStats());
            }
        });
    }

    public void onDeleteTableColumnStat(DeleteTableColumnStatEvent event) {
        forward(STATISTICS, event, draft -> draft.catalog(event.getCatName())
                .attribute("database", event.getDBName()).attribute("table", event.getTableName()));
    }

    public void onDeletePartitionColumnStat(DeletePartitionColumnStatEvent event) {
        forward(STATISTICS, event, draft -> draft.catalog(event.getCatName())
                .attribute("database", event.getDBName()).attribute("table", event.getTableName())
                .partition(event.getPartName()));
    }

    /** What a callback adds to its event. */
    private interface Contents {
        void putInto(EventEncoder draft) throws Exception;
    }

    private void forward(String kind, Object event, Contents contents) {
        try {
            ListenerEvent change = (ListenerEvent) event;
            if (delivery != null && change != null && change.getStatus()) {
                delivery.send(change, () -> {
                    EventEncoder draft = new EventEncoder(kind, change);
                    contents.putInto(draft);
                    return draft;
                });
            }
        } catch (Throwable problem) {
            complain("pysync: a " + kind + " event could not be handed on", problem);
        }
    }

    private static Delivery startQuietly(Configuration conf) {
        try {
            return Delivery.of(Settings.from(conf));
        } catch (Throwable problem) {
            complain("pysync: the listener could not start: no change of this metastore is handed on", problem);
            return null;
        }
    }

    /** The class of the problem only: messages may hold the payload. */
    private static void complain(String what, Throwable problem) {
        try {
            LOG.error("{} ({})", what, problem.getClass().getName());
        } catch (Throwable nothingLeftToTry) {
            // The metastore must not suffer from a broken log.
        }
    }
}
