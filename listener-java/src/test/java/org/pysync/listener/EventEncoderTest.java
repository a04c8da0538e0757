package org.pysync.listener;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.security.PrivilegedExceptionAction;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hive.metastore.api.ColumnStatistics;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsDesc;
import org.apache.hadoop.hive.metastore.api.EnvironmentContext;
import org.apache.hadoop.hive.metastore.api.Function;
import org.apache.hadoop.hive.metastore.events.ListenerEvent;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TField;
import org.apache.thrift.protocol.TList;
import org.apache.thrift.protocol.TMap;
import org.apache.thrift.protocol.TType;
import org.apache.thrift.transport.TMemoryInputTransport;
import org.junit.jupiter.api.Test;

class EventEncoderTest {
    private static final Set<String> OF_EVERY_EVENT = new HashSet<>(Arrays.asList("thread", "user"));

    @Test
    void theFieldsAreThoseOfTheWireFormat() throws TException {
        Function function = new Function();
        function.setFunctionName("f");
        Map<Short, Object> found = decode(new EventEncoder("CREATE_FUNCTION", new Change()).after(function), 3);
        assertEquals((short) 1, found.get((short) 1));
        assertEquals("CREATE_FUNCTION", text(found, 2));
        assertEquals("here", text(found, 3));
        assertEquals("one", text(found, 4));
        assertEquals(3L, found.get((short) 5));
        assertFalse(found.containsKey((short) 7), "no notification id was told");
        byte[] bytes = new TSerializer(new TBinaryProtocol.Factory()).serialize(function);
        assertArrayEquals(bytes, bytes((ByteBuffer) ((List<?>) found.get((short) 13)).get(0)));
        assertEquals(Collections.emptyList(), found.get((short) 12));
    }

    @Test
    void whatIsNullIsLeftOut() throws TException {
        Change change = new Change();
        Map<String, String> properties = new HashMap<>();
        properties.put("CASCADE", "true");
        properties.put("odd", null);
        properties.put(null, "odd");
        change.setEnvironmentContext(new EnvironmentContext(properties));
        EventEncoder draft = new EventEncoder("DROP_TABLE", change).table(null).before(null).after(null)
                .allAfter((List<?>) null).attribute("delete_data", null).catalog(null).partition(null);
        Map<Short, Object> found = decode(draft, 1);
        assertEquals(Collections.singletonMap("CASCADE", "true"), found.get((short) 9));
        assertEquals(OF_EVERY_EVENT, attributes(found).keySet());
        assertFalse(found.containsKey((short) 8));
        assertFalse(found.containsKey((short) 11));
    }

    @Test
    void gettersThatThisHiveDoesNotHaveAreNoTrouble() throws TException {
        EventEncoder draft = new EventEncoder("INSERT", new Change()).truncate(new Object()).insert(new Object());
        assertEquals(OF_EVERY_EVENT, attributes(decode(draft, 1)).keySet());
    }

    @Test
    void aGetterThatFailsIsAsOneThatIsNotThere() throws TException {
        EventEncoder draft = new EventEncoder("ALTER_TABLE", new Change()).truncate(new Failing());
        assertEquals(OF_EVERY_EVENT, attributes(decode(draft, 1)).keySet());
    }

    @Test
    void objectsAreTakenAsTheyAreWhenTheyArePutIn() throws TException {
        Function function = new Function();
        function.setFunctionName("before");
        EventEncoder draft = new EventEncoder("CREATE_FUNCTION", new Change()).after(function);
        function.setFunctionName("changed later");
        ByteBuffer written = (ByteBuffer) ((List<?>) decode(draft, 1).get((short) 13)).get(0);
        assertTrue(new String(bytes(written), java.nio.charset.StandardCharsets.UTF_8).contains("before"));
    }

    @Test
    void ofStatisticsOnlyTheNamesTravel() throws TException {
        EventEncoder draft = new EventEncoder("COLUMN_STATISTICS", new Change());
        draft.statistics(null, of("k=1")).statistics(null, of("k=2"));
        Map<String, String> attributes = new HashMap<>(attributes(decode(draft, 1)));
        attributes.keySet().removeAll(OF_EVERY_EVENT);
        Map<String, String> wanted = new HashMap<>();
        wanted.put("database", "db");
        wanted.put("table", "t");
        wanted.put("partitions", "k=1\nk=2");
        assertEquals(wanted, attributes);
        EventEncoder whole = new EventEncoder("COLUMN_STATISTICS", new Change()).statistics(null, of(null));
        assertFalse(attributes(decode(whole, 1)).containsKey("partitions"));
    }

    @Test
    void theUserIsTheOneWhoseCallItIs() throws Exception {
        UserGroupInformation caller = UserGroupInformation.createRemoteUser("pysync-east,west");
        EventEncoder draft = caller.doAs((PrivilegedExceptionAction<EventEncoder>) () ->
                new EventEncoder("DROP_FUNCTION", new Change()));
        assertEquals("pysync-east,west", attributes(decode(draft, 1)).get("user"));
    }

    @Test
    void ofAPrincipalItIsTheShortName() throws Exception {
        UserGroupInformation caller = UserGroupInformation.createRemoteUser("svc/host.example.com");
        EventEncoder draft = caller.doAs((PrivilegedExceptionAction<EventEncoder>) () ->
                new EventEncoder("DROP_FUNCTION", new Change()));
        assertEquals(caller.getShortUserName(), attributes(decode(draft, 1)).get("user"));
    }

    @Test
    void theGoodbyeIsNobodysCall() throws TException {
        assertEquals(Collections.singleton("thread"), attributes(decode(EventEncoder.goodbye(), 1)).keySet());
    }

    private static ColumnStatistics of(String partition) {
        ColumnStatisticsDesc whose = new ColumnStatisticsDesc(partition == null, "db", "t");
        whose.setPartName(partition);
        return new ColumnStatistics(whose, Collections.emptyList());
    }

    /** Some change; that it is none of Hive's own events keeps the constructors of all versions out of this. */
    private static final class Change extends ListenerEvent {
        Change() {
            super(true, null);
        }
    }

    /** Public, as what has getters is. */
    public static final class Failing {
        public boolean getIsTruncateOp() {
            throw new NoSuchMethodError("of another version");
        }
    }

    private static String text(Map<Short, Object> fields, int id) {
        return new String(bytes((ByteBuffer) fields.get((short) id)), java.nio.charset.StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, String> attributes(Map<Short, Object> fields) {
        return (Map<String, String>) fields.get((short) 10);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] found = new byte[buffer.remaining()];
        buffer.duplicate().get(found);
        return found;
    }

    /** The fields of the struct by their ids. */
    private static Map<Short, Object> decode(EventEncoder draft, long sequence) throws TException {
        byte[] bytes = draft.encode("here", "one", sequence);
        TBinaryProtocol in = new TBinaryProtocol(new TMemoryInputTransport(bytes));
        Map<Short, Object> found = new LinkedHashMap<>();
        for (TField field = in.readFieldBegin(); field.type != TType.STOP; field = in.readFieldBegin()) {
            found.put(field.id, value(in, field.type));
        }
        return found;
    }

    private static Object value(TBinaryProtocol in, byte type) throws TException {
        switch (type) {
            case TType.I16:
                return in.readI16();
            case TType.I64:
                return in.readI64();
            case TType.MAP:
                return map(in);
            case TType.LIST:
                return list(in);
            default:
                return in.readBinary();
        }
    }

    private static Map<String, String> map(TBinaryProtocol in) throws TException {
        Map<String, String> found = new LinkedHashMap<>();
        TMap head = in.readMapBegin();
        for (int at = 0; at < head.size; at++) {
            found.put(in.readString(), in.readString());
        }
        return found;
    }

    private static List<ByteBuffer> list(TBinaryProtocol in) throws TException {
        TList head = in.readListBegin();
        ByteBuffer[] found = new ByteBuffer[head.size];
        for (int at = 0; at < head.size; at++) {
            found[at] = in.readBinary();
        }
        return Arrays.asList(found);
    }
}
