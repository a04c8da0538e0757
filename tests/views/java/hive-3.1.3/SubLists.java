package org.apache.hadoop.hive.ql.exec;

import java.util.ArrayList;
import java.util.List;
import org.apache.hive.com.esotericsoftware.kryo.Kryo;
import org.apache.hive.com.esotericsoftware.kryo.Serializer;
import org.apache.hive.com.esotericsoftware.kryo.io.Input;
import org.apache.hive.com.esotericsoftware.kryo.io.Output;

/** In the place of Hive 3.1's own, which reads a field that Java 8 had last. */
@SuppressWarnings("checkstyle:TypeName")
class SerializationUtilities$ArrayListSubListSerializer extends Serializer<List<?>> {
    @Override
    public void write(Kryo kryo, Output output, List<?> list) {
        kryo.writeObject(output, new ArrayList<>(list));
    }

    @Override
    public List<?> read(Kryo kryo, Input input, Class<List<?>> type) {
        return kryo.readObject(input, ArrayList.class);
    }
}
