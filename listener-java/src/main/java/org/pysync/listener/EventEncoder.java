package org.pysync.listener;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.metastore.MetaStoreEventListenerConstants;
import org.apache.hadoop.hive.metastore.api.ColumnStatistics;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsDesc;
import org.apache.hadoop.hive.metastore.api.EnvironmentContext;
import org.apache.hadoop.hive.metastore.events.ListenerEvent;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.thrift.TBase;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns one listener event into the bytes of docs/wire-format.md.
 *
 * <p>Promise: objects are serialised when they are put in, because the metastore goes on changing them; null
 * objects are left out; getters that only some Hive versions have are looked up by name. Uses those parts of
 * libthrift alone that are the same in 0.9.3 and 0.16.
 */
final class EventEncoder {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarListener.class);
    private static final short VERSION = 1;

    /** The sidecar reads at the source what has become of the table. */
    private static final String TOO_LONG = "TABLE_CHANGED";
    /** Of one event's objects. They are in memory some four times while it is written, and more often at the sidecar. */
    private static final long MOST_BYTES = Math.min(32L << 20, Runtime.getRuntime().maxMemory() / 16);

    private final String kind;
    private final long timeMs = System.currentTimeMillis();
    private final Long notificationId;
    private final Map<String, String> environment;
    private final Map<String, String> attributes = new LinkedHashMap<>();
    private final List<byte[]> before = new ArrayList<>();
    private final List<byte[]> after = new ArrayList<>();
    private final List<String> partitions = new ArrayList<>();
    private byte[] table;
    private long bytes;
    private boolean isTooLong;
    /** The table, where partitions come with it; and the table as it is now. */
    private Object first;
    private Object last;
    private String catalog;

    /** Of the thread that runs the callback. */
    EventEncoder(String kind, ListenerEvent event) throws TException {
        this(kind, environmentOf(event), withoutNulls(event.getParameters()));
        attribute("user", caller());
    }

    private EventEncoder(String kind, Map<String, String> environment, Map<String, String> parameters)
            throws TException {
        this.kind = kind;
        this.environment = environment;
        this.notificationId = notificationId(parameters);
        attribute("thread", Thread.currentThread().getId());
        if ("true".equals(parameters.get(MetaStoreEventListenerConstants.HIVE_METASTORE_TRANSACTION_ACTIVE))) {
            attribute("uncommitted", true);
        }
    }

    /** The last event of a process that ends in order. */
    static EventEncoder goodbye() throws TException {
        return new EventEncoder("GOODBYE", Collections.emptyMap(), Collections.emptyMap());
    }

    EventEncoder table(Object object) throws TException {
        table = object == null ? null : bytesOf(object);
        return this;
    }

    EventEncoder before(Object object) throws TException {
        return put(before, object);
    }

    EventEncoder after(Object object) throws TException {
        return put(after, object);
    }

    EventEncoder allBefore(Iterator<?> objects) throws TException {
        while (objects != null && objects.hasNext()) {
            before(objects.next());
        }
        return this;
    }

    EventEncoder allAfter(Iterator<?> objects) throws TException {
        while (objects != null && objects.hasNext()) {
            after(objects.next());
        }
        return this;
    }

    EventEncoder allAfter(List<?> objects) throws TException {
        return objects == null ? this : allAfter(objects.iterator());
    }

    /** An attribute without a value does not apply to the event and stays absent. */
    EventEncoder attribute(String name, Object value) {
        if (value != null) {
            attributes.put(name, value.toString());
        }
        return this;
    }

    EventEncoder catalog(String name) {
        if (catalog == null) {
            catalog = name;
        }
        return this;
    }

    /** Hive 3.1 and later say whether an ALTER is a TRUNCATE. */
    EventEncoder truncate(Object event) {
        return attribute("truncate", get(event, "getIsTruncateOp"));
    }

    /** INSERT names its table in 2.3 and holds the objects from 3.1 on. */
    EventEncoder insert(Object event) throws TException {
        Object tableObject = get(event, "getTableObj");
        table(tableObject).after(get(event, "getPartitionObj"));
        attribute("replace", get(event, "isReplace"));
        if (tableObject != null) {
            return attribute("database", get(tableObject, "getDbName"))
                    .attribute("table", get(tableObject, "getTableName"));
        }
        Object partition = get(event, "getPartitionKeyValues");
        if (partition instanceof Map) {
            ((Map<?, ?>) partition).forEach((key, value) -> attribute("partition." + key, value));
        }
        return attribute("database", get(event, "getDb")).attribute("table", get(event, "getTable"));
    }

    /** Of column statistics only whose they are: they may be large, and change with every INSERT. */
    EventEncoder statistics(Object table, ColumnStatistics written) {
        ColumnStatisticsDesc whose = written.getStatsDesc();
        if (table != null) {
            catalog((String) get(table, "getCatName"));
        }
        attribute("database", whose.getDbName()).attribute("table", whose.getTableName());
        return whose.isIsTblLevel() ? this : partition(whose.getPartName());
    }

    /** One more partition that the event is about; none means its table. */
    EventEncoder partition(String name) {
        if (name != null) {
            partitions.add(name);
        }
        return this;
    }

    /** The whole event; the numbers of fields are those of docs/wire-format.md and never change. */
    byte[] encode(String source, String instance, long sequence) throws TException {
        attribute("partitions", partitions.isEmpty() ? null : String.join("\n", partitions));
        if (isTooLong) {
            tellOfTableAlone();
        }
        ThriftStruct out = new ThriftStruct((int) bytes + 1024);
        out.i16(1, VERSION);
        out.string(2, isTooLong ? TOO_LONG : kind);
        out.string(3, source);
        out.string(4, instance);
        out.i64(5, sequence);
        out.i64(6, timeMs);
        out.i64(7, notificationId);
        out.string(8, catalog);
        out.map(9, environment);
        out.map(10, attributes);
        out.binary(11, table);
        out.list(12, before);
        out.list(13, after);
        return out.end();
    }

    private EventEncoder put(List<byte[]> list, Object object) throws TException {
        byte[] written = object == null ? null : bytesOf(object);
        if (written != null) {
            list.add(written);
        }
        return this;
    }

    /** Null once the event is too long. */
    private byte[] bytesOf(Object object) throws TException {
        catalog(catalogOf(object));
        first = first == null ? object : first;
        last = object;
        try {
            BoundedBuffer buffer = new BoundedBuffer(isTooLong ? 0 : MOST_BYTES - bytes);
            ((TBase<?, ?>) object).write(new TBinaryProtocol(buffer));
            bytes += buffer.length();
            return buffer.bytes();
        } catch (BoundedBuffer.TooLong e) {
            forgetObjects();
            return null;
        }
    }

    private void forgetObjects() {
        isTooLong = true;
        bytes = 0;
        table = null;
        before.clear();
        after.clear();
    }

    /** Raises IllegalArgumentException where that would not do: of a rename, and of what is no table's. */
    private void tellOfTableAlone() {
        List<Object> names = namesOf(first);
        if (names.contains(null) || !names.equals(namesOf(last))) {
            throw new IllegalArgumentException("too long, and not of one table");
        }
        LOG.warn("pysync: a {} of {}.{} is longer than {} bytes: the sidecar is told to read the table at the source", kind,
                names.get(0), names.get(1), MOST_BYTES);
        attribute("database", names.get(0)).attribute("table", names.get(1)).attribute("created", get(first, "getCreateTime"));
        attribute("absent", kind.equals("DROP_TABLE") ? "true" : null);
        attribute("kind", kind);
    }

    /** Tables, partitions, functions and constraints call it catName, databases catalogName. */
    private static String catalogOf(Object object) {
        if (object.getClass().getSimpleName().equals("Catalog")) {
            return (String) get(object, "getName");
        }
        Object name = get(object, "getCatName");
        return (String) (name != null ? name : get(object, "getCatalogName"));
    }

    private static List<Object> namesOf(Object object) {
        return Arrays.asList(get(object, "getDbName"), get(object, "getTableName"));
    }

    /**
     * The short name of the user whose call it is: of set_ugi, of a Kerberos or other login, or of this process.
     *
     * <p>Null where it cannot be told, whatever Hadoop makes of it: a name is not worth an event.
     */
    private static String caller() {
        try {
            return UserGroupInformation.getCurrentUser().getShortUserName();
        } catch (Throwable unknown) {
            return null;
        }
    }

    /** What a getter says, or null where this version of Hive does not have it. */
    private static Object get(Object object, String getter) {
        try {
            return object.getClass().getMethod(getter).invoke(object);
        } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException | LinkageError e) {
            return null;
        }
    }

    private static Map<String, String> environmentOf(ListenerEvent event) {
        EnvironmentContext context = event.getEnvironmentContext();
        return withoutNulls(context == null ? null : context.getProperties());
    }

    private static Long notificationId(Map<String, String> parameters) {
        String id = parameters.get(MetaStoreEventListenerConstants.DB_NOTIFICATION_EVENT_ID_KEY_NAME);
        try {
            return id == null ? null : Long.valueOf(id);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    /** Thrift cannot write a null. */
    private static Map<String, String> withoutNulls(Map<String, String> map) {
        if (map == null) {
            return Collections.emptyMap();
        }
        Map<String, String> copy = new LinkedHashMap<>(map);
        copy.remove(null);
        copy.values().removeIf(value -> value == null);
        return copy;
    }
}
