package org.pysync.listener;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * The file that holds the secret.
 *
 * <p>Promise: what {@link #read} returns was written by our own user or root, and nobody else could read it, change it, or
 * put another file in its place.
 */
final class TokenFile {
    private static final int ROOT = 0;
    private static final int STICKY = 01000;
    private static final int OTHERS_MAY_WRITE = 022;
    private static final int OTHERS_MAY_DO_ANYTHING = 077;

    private final Path file;
    private final int us;

    private TokenFile(Path file, int us) {
        this.file = file;
        this.us = us;
    }

    /** Its bytes but for white space around them; never empty. */
    static byte[] read(Path file) throws BridgeException {
        try {
            new TokenFile(file, (Integer) Files.getAttribute(Paths.get("/proc/self"), "unix:uid")).check();
            byte[] secret = trimmed(Files.readAllBytes(file));
            if (secret.length > 0) {
                return secret;
            }
        } catch (IOException e) {
            throw new BridgeException("the token file " + file + " cannot be read (" + e.getClass().getSimpleName() + ")");
        }
        throw new BridgeException("the token file " + file + " is empty");
    }

    private void check() throws IOException, BridgeException {
        Path real = file.toRealPath();
        refuseIf(ownedByOthers(real), "the token file " + file + " belongs to another user: chown it");
        refuseIf((mode(real) & OTHERS_MAY_DO_ANYTHING) != 0, "the token file " + file + " can be read by others: chmod 600");
        checkAbove(file.toAbsolutePath());
        checkAbove(real);
    }

    /** Whoever may write in a directory may put another one in the place of what is in it, unless it is as /tmp is. */
    private void checkAbove(Path path) throws IOException, BridgeException {
        for (Path directory = path.getParent(); directory != null; directory = directory.getParent()) {
            int mode = mode(directory);
            boolean open = (mode & OTHERS_MAY_WRITE) != 0 && (mode & STICKY) == 0;
            refuseIf(open || ownedByOthers(directory), "others can replace the token file " + file + ": they can write in "
                    + directory + ", chmod go-w or chown it");
        }
    }

    private boolean ownedByOthers(Path path) throws IOException {
        int owner = (Integer) Files.getAttribute(path, "unix:uid");
        return owner != us && owner != ROOT;
    }

    private static int mode(Path path) throws IOException {
        return (Integer) Files.getAttribute(path, "unix:mode");
    }

    private static void refuseIf(boolean bad, String why) throws BridgeException {
        if (bad) {
            throw new BridgeException(why);
        }
    }

    private static byte[] trimmed(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8).trim().getBytes(StandardCharsets.UTF_8);
    }
}
