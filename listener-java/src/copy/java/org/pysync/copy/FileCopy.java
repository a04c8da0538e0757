package org.pysync.copy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
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
     * Compare directories; unless they are only looked at, remove what copies that were killed have left at the target.
     *
     * @param request `compare` (time, size or checksum) and how the names of files begin that the caller itself has
     *     under way (empty: it only looks); then for each pair of directories `source, target`
     * @return for each pair, by its number: first `copy, number, name, size, time, there` (`none`, `copied` or `foreign`,
     *     by what would be replaced), `unrecorded, number, name` of files that are the same but not recorded as copied,
     *     `extra, number, name, size` of copied files that the source does not have, `foreign, number, name, size` of
     *     others, and `stale, number, name` of names recorded without a file; then `pair, number, there, fingerprint, same` (a number of files); or `failed, number, kind, why`
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
                answer.add("failed", number, kind(error), pair[0] + " to " + pair[1] + ": " + why(error));
            }
        }
        return answer.toString();
    }

    /**
     * Copy files to names that no reader looks at.
     *
     * @param request `bytes a second` (0: no limit), then for each file `source, target, size, time` and the directories
     *     `source, target` that these are below
     * @return for each file `done`, or `gone` where it is not there any more or has changed, or `failed, kind, why`
     */
    public static String copy(String request) throws IOException {
        List<String[]> lines = Lines.read(request);
        Contents contents = new Contents(new Pace(Long.parseLong(lines.get(0)[0])));
        List<Callable<Object[]>> work = new ArrayList<>();
        for (String[] file : lines.subList(1, lines.size())) {
            work.add(() -> answer(file[0], () -> contents.copy(
                    below(file[0], file[4]),
                    below(file[1], file[5]),
                    Place.of(file[5]),
                    Long.parseLong(file[2]),
                    Long.parseLong(file[3]))));
        }
        return answers(new Lines(), areLocal(lines) ? Crew.inTurn(work) : Crew.each(work)).toString();
    }

    /**
     * Look at files.
     *
     * @param request for each its location
     * @return for each `there, size, time`, or `gone`, or `failed, kind, why`
     */
    public static String stat(String request) {
        Lines answer = new Lines();
        for (String[] file : Lines.read(request)) {
            try {
                FileStatus found = Place.of(file[0]).status();
                if (found == null) {
                    answer.add("gone");
                } else {
                    answer.add("there", found.getLen(), found.getModificationTime());
                }
            } catch (IOException | RuntimeException error) {
                answer.add("failed", kind(error), file[0] + ": " + why(error));
            }
        }
        return answer.toString();
    }

    private static Place below(String name, String top) throws IOException {
        Place place = Place.of(name);
        place.refuseLinks(Place.of(top));
        return place;
    }

    /** Whether nothing is waited for: local files. */
    private static boolean areLocal(List<String[]> lines) throws IOException {
        return lines.size() < 2 || Place.of(lines.get(1)[0]).isLocal() && Place.of(lines.get(1)[1]).isLocal();
    }

    /**
     * Give copied files their names, and remove files: several of a kind at once, different kinds one after the other.
     *
     * @param request for each `rename, from, to, top`, `delete, name, top` or `discard, directory, top`, or of names of copied files `record, name…,
     *     record's place, top` or `forget, name…, record's place, top` ({@link CopiedNames}), where `top` is the directory that these are
     *     below; files that tell of others (`_SUCCESS`, what is below `_delta_log`) are expected after those
     * @return for each `done`, or `gone` where the file to be renamed is not there, or `failed, kind, why`; after such a
     *     failure steps of other kinds are not taken, and not answered
     */
    public static String publish(String request) throws IOException {
        Lines answer = new Lines();
        for (List<String[]> alike : alike(Lines.read(request))) {
            List<Callable<Object[]>> work = new ArrayList<>();
            for (String[] step : alike) {
                work.add(() -> answer(step[1], () -> publish(step)));
            }
            List<Object[]> done = Crew.each(work);
            answers(answer, done);
            if (done.stream().anyMatch(record -> "failed".equals(record[0]))) {
                break; // nothing is taken away where what should replace it has not come
            }
        }
        return answer.toString();
    }

    private interface Step {
        boolean run() throws IOException;
    }

    private static Object[] answer(String what, Step step) {
        try {
            return new Object[] {step.run() ? "done" : "gone"};
        } catch (IOException | RuntimeException error) {
            return new Object[] {"failed", kind(error), what + ": " + why(error)};
        }
    }

    private static Lines answers(Lines answer, List<Object[]> records) {
        records.forEach(answer::add);
        return answer;
    }

    private static boolean publish(String[] step) throws IOException {
        String top = step[step.length - 1];
        if ("record".equals(step[0]) || "forget".equals(step[0])) {
            note(step, below(step[step.length - 2], top));
            return true;
        }
        Place from = below(step[1], top);
        if ("delete".equals(step[0])) {
            from.delete();
            return true;
        }
        if ("discard".equals(step[0])) {
            from.discard();
            return true;
        }
        return from.replace(below(step[2], top));
    }

    private static void note(String[] step, Place record) throws IOException {
        List<String> names = Arrays.asList(step).subList(1, step.length - 2);
        if ("record".equals(step[0])) {
            CopiedNames.add(record, names);
        } else {
            CopiedNames.remove(record, names);
        }
    }

    /** Runs of steps that may be taken in any order: those to places equally deep in what readers do not look at. */
    private static List<List<String[]>> alike(List<String[]> steps) {
        List<List<String[]>> found = new ArrayList<>();
        String last = "";
        for (String[] step : steps) {
            if (!last.equals(kind(step))) {
                found.add(new ArrayList<>());
                last = kind(step);
            }
            found.get(found.size() - 1).add(step);
        }
        return found;
    }

    private static String kind(String[] step) {
        int hidden = 0;
        for (String part : step[step.length - 2].split("/")) {
            hidden += part.startsWith("_") || part.startsWith(".") ? 1 : 0;
        }
        return step[0] + hidden;
    }

    /** In one line: errors of a name node bring its stack along. */
    private static String why(Exception error) {
        return error.toString().split("\n", 2)[0];
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
