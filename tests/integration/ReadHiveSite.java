import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** Prints what Hadoop reads: for each NAME of each FILE a line FILE, NAME, value or "absent", by tabs; as escapes. */
public class ReadHiveSite {
    public static void main(String[] args) {
        String[] names = args[0].split(",");
        for (int i = 1; i < args.length; i++) {
            Configuration conf = new Configuration(false);
            conf.addResource(new Path("file:" + args[i]));
            for (String name : names) {
                String value = conf.getRaw(name);
                System.out.println(args[i] + "\t" + name + "\t" + (value == null ? "absent" : "=" + escaped(value)));
            }
        }
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r");
    }
}
