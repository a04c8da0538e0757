import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.CreateDatabaseEvent;
import org.pysync.listener.SidecarListener;

/** A JVM with the listener and no metastore: calls it as each line of standard input says, and answers with a line. */
public final class Driver {
    private final Configuration conf = new Configuration(false);
    private final SidecarListener listener;
    private CountDownLatch busy;
    private CountDownLatch seized;

    private Driver() {
        for (Map.Entry<Object, Object> property : System.getProperties().entrySet()) {
            String key = property.getKey().toString();
            if (key.startsWith("pysync.") && !key.startsWith("pysync.spool.open:")) {
                conf.set(key, property.getValue().toString());
            }
        }
        listener = new SidecarListener(conf);
    }

    public static void main(String[] arguments) throws Exception {
        Driver driver = new Driver();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(driver.obey(line.split(" ")));
        }
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "create":
                return create(listener, words[1], Integer.parseInt(words[2]));
            case "partitions":
                return addPartitions(listener, words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            case "storm":
                return storm(Integer.parseInt(words[1]), Integer.parseInt(words[2]), words[3], Integer.parseInt(words[4]));
            case "twice":
                return twice(words[1]);
            case "late":
                Runtime.getRuntime().addShutdownHook(new Thread(() -> createAfterGoodbye(words[1])));
                return "late";
            case "busy":
                busy = new CountDownLatch(1);
                return BusyHMSHandler.start(busy);
            case "free":
                busy.countDown();
                return "free";
            case "note":
                return note(words[1]);
            case "read":
                return SpoolReader.read(Paths.get(words[1]));
            case "die":
                Runtime.getRuntime().halt(9);
                return "dead";
            case "seize":
                seized = new CountDownLatch(1);
                return seize(spool(), seized);
            case "release":
                seized.countDown();
                return "released";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** The microseconds that a callback took. */
    private static String create(SidecarListener listener, String name, int padding) {
        long began = System.nanoTime();
        listener.onCreateDatabase(new CreateDatabaseEvent(database(name, padding), true, null));
        return Long.toString((System.nanoTime() - began) / 1000);
    }

    /** One event of so many partitions, each with so much padding; the microseconds that its callback took. */
    private static String addPartitions(SidecarListener listener, String table, int count, int padding) {
        List<FieldSchema> columns = new ArrayList<>();
        StorageDescriptor place = new StorageDescriptor();
        Table parent = new Table(table, "db", "o", 1700000000, 0, 0, place, columns, new HashMap<>(), "", "", "T");
        Map<String, String> parameters = new HashMap<>();
        parameters.put("padding", text(padding));
        List<Partition> partitions = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            List<String> values = Arrays.asList(String.valueOf(number));
            partitions.add(new Partition(values, "db", table, 0, 0, place, parameters));
        }
        long began = System.nanoTime();
        listener.onAddPartition(new AddPartitionEvent(parent, partitions, true, null));
        return Long.toString((System.nanoTime() - began) / 1000);
    }

    /** As a client's call that comes while the process ends: the marker goes once the goodbye is safe. */
    private void createAfterGoodbye(String name) {
        String[] left = {".alive"};
        while (left.length > 0) {
            left = new File(conf.get("pysync.spool.dir")).list((directory, file) -> file.endsWith(".alive"));
            LockSupport.parkNanos(1_000_000);
        }
        create(listener, name, 0);
    }

    /** Each thread's own sequence of names, all threads at once; the longest microseconds of a callback, by thread. */
    private String storm(int threads, int count, String prefix, int padding) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(threads);
        CountDownLatch go = new CountDownLatch(threads);
        List<Future<Long>> running = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            String mine = prefix + thread + "_";
            running.add(workers.submit(() -> {
                go.countDown();
                go.await();
                long longest = 0;
                for (int step = 0; step < count; step++) {
                    longest = Math.max(longest, Long.parseLong(create(listener, mine + step, padding)));
                }
                return longest;
            }));
        }
        List<String> longest = new ArrayList<>();
        for (Future<Long> one : running) {
            longest.add(one.get().toString());
        }
        workers.shutdown();
        return String.join(" ", longest);
    }

    /** As a metastore does in whose settings the listener stands twice. */
    private String twice(String name) {
        CreateDatabaseEvent event = new CreateDatabaseEvent(database(name, 0), true, null);
        for (SidecarListener one : Arrays.asList(listener, new SidecarListener(conf))) {
            one.onCreateDatabase(event);
        }
        return "twice";
    }

    private static Database database(String name, int padding) {
        return new Database(name, text(padding), "file:/nowhere", null);
    }

    private static String text(int length) {
        char[] text = new char[length];
        Arrays.fill(text, '-');
        return new String(text);
    }

    /** Whatever the spool is asked for hangs from now on, as where its disk does. */
    private static String seize(Object spool, CountDownLatch until) throws InterruptedException {
        CountDownLatch inside = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            synchronized (spool) {
                BusyHMSHandler.work(inside, until);
            }
        });
        thread.setDaemon(true);
        thread.start();
        inside.await();
        return "seized";
    }

    private Object spool() throws ReflectiveOperationException {
        return field(field(field(listener, "delivery"), "outbox"), "spool");
    }

    /** Into the file `notes` beside the spool's: for who records what this process writes. */
    private String note(String word) throws IOException {
        Path notes = Paths.get(conf.get("pysync.spool.dir"), "notes");
        Files.write(notes, (word + "\n").getBytes(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        return "noted";
    }

    private static Object field(Object of, String name) throws ReflectiveOperationException {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    /** What the next process would deliver of a spool. */
    private static final class SpoolReader {
        static String read(Path path) throws ReflectiveOperationException {
            Object directory = made("SpoolDirectory", path, "onprem", "reader");
            int[] damaged = new int[1];
            Object spool = made("Spool", directory, 1L << 30, (Runnable) () -> damaged[0]++);
            called(spool, "open");
            StringBuilder found = new StringBuilder();
            for (List<?> events = first(spool); !events.isEmpty(); events = first(spool)) {
                events.forEach(event -> found.append(' ').append(Base64.getEncoder().encodeToString((byte[]) event)));
                called(spool, "forgetFirst");
            }
            return damaged[0] + found.toString();
        }

        private static List<?> first(Object spool) throws ReflectiveOperationException {
            return (List<?>) called(spool, "first", 256);
        }

        private static Object made(String name, Object... arguments) throws ReflectiveOperationException {
            Constructor<?> constructor = Class.forName("org.pysync.listener." + name).getDeclaredConstructors()[0];
            constructor.setAccessible(true);
            return constructor.newInstance(arguments);
        }

        private static Object called(Object on, String name, Object... arguments) throws ReflectiveOperationException {
            for (Method method : on.getClass().getDeclaredMethods()) {
                if (method.getName().equals(name)) {
                    method.setAccessible(true);
                    return method.invoke(on, arguments);
                }
            }
            throw new NoSuchMethodException(name);
        }
    }

    /** A thread of the metastore between its commit and its listeners looks like this. */
    private static final class BusyHMSHandler {
        static String start(CountDownLatch until) throws InterruptedException {
            CountDownLatch inside = new CountDownLatch(1);
            Thread thread = new Thread(() -> work(inside, until));
            thread.setDaemon(true);
            thread.start();
            inside.await();
            return "busy";
        }

        private static void work(CountDownLatch inside, CountDownLatch until) {
            inside.countDown();
            try {
                until.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
