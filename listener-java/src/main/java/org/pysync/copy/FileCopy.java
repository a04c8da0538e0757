package org.pysync.copy;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.security.AccessControlException;

/**
 * What pysync's Spark tasks do with files, called from Spark SQL (`reflect`). Requests and answers are {@link Lines}.
 *
 * <p>Nothing here is seen by a reader of the target before {@link #publish}.
 */
public final class FileCopy {
    private FileCopy() {
    }

    /**
     * Compare directories, and remove what copies that were killed have left at the target.
     *
     * @param request `compare` (time, size or checksum) and how the names of files begin that the caller itself has
     *     under way; then for each pair of directories `source, target`
     * @return for each pair, by its number: first `copy, number, name, size, time, replaces` and `extra, number, name`,
     *     then `pair, number, there, fingerprint, same` (a number of files); or `failed, number, kind, why`
     */
    public static String survey(String request) {
        List<String[]> lines = Lines.read(request);
        String[] how = lines.get(0);
        Lines answer = new Lines();
        for (int number = 0; number < lines.size() - 1; number++) {
            String[] pair = lines.get(number + 1);
            try {
                new Survey(Place.of(pair[0]), Place.of(pair[1]), how[0], how[1]).tell(number, answer);
            } catch (IOException | RuntimeException error) {
                answer.add("failed", number, kind(error), pair[0] + " to " + pair[1] + ": " + error);
            }
        }
        return answer.toString();
    }

    /**
     * Copy files to names that no reader looks at.
     *
     * @param request `bytes a second` (0: no limit), then for each file `source, target, size, time`
     * @return for each file `done`, or `gone` where it is not there any more or has changed, or `failed, kind, why`
     */
    public static String copy(String request) {
        List<String[]> lines = Lines.read(request);
        Contents contents = new Contents(new Pace(Long.parseLong(lines.get(0)[0])));
        Lines answer = new Lines();
        for (String[] file : lines.subList(1, lines.size())) {
            answer(answer, file[0], () -> contents.copy(
                    Place.of(file[0]), Place.of(file[1]), Long.parseLong(file[2]), Long.parseLong(file[3])));
        }
        return answer.toString();
    }

    /**
     * Give copied files their names, and remove files, one after the other.
     *
     * @param request for each `rename, from, to` or `delete, name`
     * @return for each `done`, or `gone` where the file to be renamed is not there, or `failed, kind, why`
     */
    public static String publish(String request) {
        Lines answer = new Lines();
        for (String[] step : Lines.read(request)) {
            answer(answer, step[1], () -> publish(step));
        }
        return answer.toString();
    }

    private interface Step {
        boolean run() throws IOException;
    }

    private static void answer(Lines answer, String what, Step step) {
        try {
            answer.add(step.run() ? "done" : "gone");
        } catch (IOException | RuntimeException error) {
            answer.add("failed", kind(error), what + ": " + error);
        }
    }

    private static boolean publish(String[] step) throws IOException {
        Place from = Place.of(step[1]);
        if ("delete".equals(step[0])) {
            from.delete();
            return true;
        }
        boolean there = from.status() != null;
        if (there) {
            from.replace(Place.of(step[2]));
        }
        return there;
    }

    /** `refused` where another try would not end differently, else `unavailable`. */
    private static String kind(Exception error) {
        boolean refused = error instanceof AccessControlException
                || error instanceof ChecksumException
                || error instanceof FileAlreadyExistsException
                || error instanceof ParentNotDirectoryException
                || error instanceof IllegalArgumentException && !(error.getCause() instanceof IOException)
                || "BlockMissingException".equals(error.getClass().getSimpleName());
        return refused ? "refused" : "unavailable";
    }
}
