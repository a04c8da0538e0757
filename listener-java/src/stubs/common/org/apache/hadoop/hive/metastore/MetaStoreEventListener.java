package org.apache.hadoop.hive.metastore;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterTableEvent;
import org.apache.hadoop.hive.metastore.events.CreateDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.CreateFunctionEvent;
import org.apache.hadoop.hive.metastore.events.CreateTableEvent;
import org.apache.hadoop.hive.metastore.events.DropDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.DropFunctionEvent;
import org.apache.hadoop.hive.metastore.events.DropPartitionEvent;
import org.apache.hadoop.hive.metastore.events.DropTableEvent;
import org.apache.hadoop.hive.metastore.events.InsertEvent;

/** Stub. */
public abstract class MetaStoreEventListener {
    public MetaStoreEventListener(Configuration conf) {}

    public native void onCreateDatabase(CreateDatabaseEvent event);

    public native void onDropDatabase(DropDatabaseEvent event);

    public native void onCreateTable(CreateTableEvent event);

    public native void onDropTable(DropTableEvent event);

    public native void onAlterTable(AlterTableEvent event);

    public native void onAddPartition(AddPartitionEvent event);

    public native void onDropPartition(DropPartitionEvent event);

    public native void onAlterPartition(AlterPartitionEvent event);

    public native void onInsert(InsertEvent event);

    public native void onCreateFunction(CreateFunctionEvent event);

    public native void onDropFunction(DropFunctionEvent event);
}
