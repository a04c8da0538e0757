package pysync.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.serde2.FetchFormatter;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;

/** Each row of a query as JSON. Numbers are strings as Java writes them, so that NaN, -0.0 and every digit stay. */
public final class JsonRows implements FetchFormatter<String> {
    @Override
    public void initialize(Configuration conf, Properties properties) {
    }

    @Override
    public String convert(Object row, ObjectInspector inspector) {
        StringBuilder json = new StringBuilder();
        write(ObjectInspectorUtils.copyToStandardJavaObject(row, inspector), json);
        return json.toString();
    }

    @Override
    public void close() {
    }

    private static void write(Object value, StringBuilder json) {
        if (value == null || value instanceof Boolean) {
            json.append(value);
        } else if (value instanceof List) {
            writeList((List<?>) value, json);
        } else if (value instanceof Map) {
            List<Object> pairs = new ArrayList<>();
            ((Map<?, ?>) value).forEach((key, item) -> pairs.add(Arrays.asList(key, item)));
            writeList(pairs, json);
        } else {
            String text = value instanceof byte[] ? Base64.getEncoder().encodeToString((byte[]) value) : value.toString();
            json.append('"');
            text.chars().forEach(unit -> writeCharacter((char) unit, json));
            json.append('"');
        }
    }

    private static void writeList(List<?> values, StringBuilder json) {
        json.append('[');
        for (int place = 0; place < values.size(); place++) {
            json.append(place == 0 ? "" : ",");
            write(values.get(place), json);
        }
        json.append(']');
    }

    private static void writeCharacter(char unit, StringBuilder json) {
        if (unit >= ' ' && unit <= '~' && unit != '"' && unit != '\\') {
            json.append(unit);
        } else {
            json.append(String.format("\\u%04x", (int) unit));
        }
    }
}
