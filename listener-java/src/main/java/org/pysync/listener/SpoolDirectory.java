package org.pysync.listener;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names in the directory of the spool: {@code SOURCE~INSTANCE~000001.spool}, and {@code SOURCE~INSTANCE.alive}, an
 * instance's {@link Marker}.
 */
final class SpoolDirectory {
    private static final String SUFFIX = ".spool";
    private static final String ALIVE = ".alive";
    private static final Pattern NAME = Pattern.compile("(.*?)(?:~(\\d{6,18}))?" + Pattern.quote(SUFFIX));

    private final Path path;
    /** Metastores may share the directory; only those of one source share a sidecar, and so each other's files. */
    private final String prefix;
    private final String instance;

    SpoolDirectory(Path path, String source, String instance) {
        this.path = path;
        this.prefix = source.replaceAll("[^A-Za-z0-9_.-]", "_") + "~";
        this.instance = instance;
    }

    void make() throws IOException {
        if (!Files.isDirectory(path)) {
            Files.createDirectories(path,
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
    }

    Path segment(long number) {
        return path.resolve(String.format("%s%s~%06d%s", prefix, instance, number, SUFFIX));
    }

    /** The marker of our own instance. */
    Path marker() {
        return path.resolve(prefix + instance + ALIVE);
    }

    /** The markers of our source, our own and those of the living among them. */
    List<Path> markers() throws IOException {
        List<Path> markers = new ArrayList<>();
        try (DirectoryStream<Path> paths = Files.newDirectoryStream(path, file -> isOfOurSource(file, ALIVE))) {
            paths.forEach(markers::add);
        }
        return markers;
    }

    /** Whose marker it is. */
    String instanceOf(Path marker) {
        String name = marker.getFileName().toString();
        return name.substring(prefix.length(), name.length() - ALIVE.length());
    }

    /** The files of our source, the instance that wrote first first, each instance's in their order. */
    List<Path> files() throws IOException {
        List<Found> found = new ArrayList<>();
        try (DirectoryStream<Path> paths = Files.newDirectoryStream(path, file -> isOfOurSource(file, SUFFIX))) {
            for (Path one : paths) {
                found.add(new Found(one));
            }
        }
        Map<String, FileTime> began = new HashMap<>();
        found.forEach(one -> began.merge(one.instance, one.modified, (a, b) -> a.compareTo(b) <= 0 ? a : b));
        found.sort(Comparator.comparing((Found one) -> began.get(one.instance))
                .thenComparing(one -> one.instance).thenComparingLong(one -> one.number));
        List<Path> sorted = new ArrayList<>();
        found.forEach(one -> sorted.add(one.path));
        return sorted;
    }

    /** A name in a directory survives a power cut only when the directory is written too. */
    static void sync(Path directory) throws IOException {
        boolean interrupted = Thread.interrupted(); // it would close the channel
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean isOfOurSource(Path file, String suffix) {
        String name = file.getFileName().toString();
        return name.startsWith(prefix) && name.endsWith(suffix) && name.length() > prefix.length() + suffix.length();
    }

    /** A file and what orders it, read once: a time that changes under a sort would upset it. */
    private static final class Found {
        private final Path path;
        private final FileTime modified;
        private final String instance;
        private final long number;

        private Found(Path path) {
            Matcher name = NAME.matcher(path.getFileName().toString());
            boolean matches = name.matches();
            this.path = path;
            this.modified = modified(path);
            this.instance = matches ? name.group(1) : path.getFileName().toString();
            this.number = matches && name.group(2) != null ? Long.parseLong(name.group(2)) : 0;
        }

        private static FileTime modified(Path path) {
            try {
                return Files.getLastModifiedTime(path);
            } catch (IOException e) {
                return FileTime.fromMillis(0);
            }
        }
    }
}
