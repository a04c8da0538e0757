import java.io.InputStream;
import java.io.FileNotFoundException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A reader that looks as often as it can, as a query does: the location first, then the list of files, then each file.
 *
 * <p>Arguments: the file that holds the location, how many files there are, how many looks, and settings of Hadoop
 * (`name=value`). Prints how many looks found one version, two, a listed file missing, or another number of files.
 */
class Looks {
    public static void main(String[] arguments) throws Exception {
        int files = Integer.parseInt(arguments[1]);
        Configuration settings = new Configuration();
        for (int at = 3; at < arguments.length; at++) {
            String[] setting = arguments[at].split("=", 2);
            settings.set(setting[0], setting[1]);
        }
        int[] found = new int[4];
        for (int look = 0; look < Integer.parseInt(arguments[2]); look++) {
            Path place = new Path(Files.readString(Paths.get(arguments[0])));
            found[look(place.getFileSystem(settings), place, files)]++;
        }
        System.out.println(found[0] + " " + found[1] + " " + found[2] + " " + found[3]);
    }

    private static int look(FileSystem system, Path place, int files) throws Exception {
        Set<String> versions = new TreeSet<>();
        int number = 0;
        try {
            for (FileStatus file : system.listStatus(place)) {
                if (file.isFile() && !file.getPath().getName().startsWith(".")) {
                    try (InputStream in = system.open(file.getPath())) {
                        versions.add(new String(in.readAllBytes(), StandardCharsets.UTF_8));
                    }
                    number++;
                }
            }
        } catch (FileNotFoundException gone) {
            return 2;
        }
        return versions.size() > 1 ? 1 : number == files ? 0 : 3;
    }
}
