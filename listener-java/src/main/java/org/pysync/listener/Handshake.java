package org.pysync.listener;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Both sides prove that they know the secret, which itself never travels; docs/wire-format.md has the lines.
 *
 * <p>Promise: whoever does not know it has learnt nothing but a random number when {@link #with} has thrown.
 */
final class Handshake {
    private static final String VERSION = "PYSYNC-2";
    private static final int NONCE_BYTES = 32;
    private static final int LONGEST_LINE = 1024;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final byte[] secret;
    private final String ours = nonce();
    private String theirs;

    private Handshake(byte[] secret) {
        this.secret = secret;
    }

    /** The streams of a connection on which the other side has proved itself, and we have. */
    static Sealed with(InputStream in, OutputStream out, byte[] secret) throws IOException {
        Handshake handshake = new Handshake(secret);
        handshake.send(out, VERSION + " " + handshake.ours);
        handshake.verify(line(in));
        handshake.send(out, hex(handshake.key("listener proves")));
        return new Sealed(in, handshake.key("sidecar sends"), out, handshake.key("listener sends"));
    }

    private void verify(String answer) throws IOException {
        String[] words = answer.split(" ", -1);
        if (words.length != 3 || !words[0].equals(VERSION) || words[1].length() != 2 * NONCE_BYTES) {
            throw new UnprovenException("what listens there does not prove that it knows the token");
        }
        theirs = words[1];
        if (!MessageDigest.isEqual(bytes(words[2]), bytes(hex(key("sidecar proves"))))) {
            throw new UnprovenException("what listens there does not know the token");
        }
    }

    private byte[] key(String use) throws IOException {
        return mac(secret).doFinal(bytes(VERSION + "\n" + use + "\n" + ours + "\n" + theirs));
    }

    private void send(OutputStream out, String line) throws IOException {
        out.write(bytes(line + "\n"));
        out.flush();
    }

    /** Byte by byte: what follows is not ours to read. */
    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int one = in.read(); one != '\n'; one = in.read()) {
            if (one < 0) {
                throw new EOFException("the greeting has no answer");
            }
            if (line.size() == LONGEST_LINE) {
                throw new UnprovenException("what listens there does not prove that it knows the token");
            }
            line.write(one);
        }
        return new String(line.toByteArray(), StandardCharsets.UTF_8);
    }

    static Mac mac(byte[] key) throws IOException {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac;
        } catch (GeneralSecurityException e) {
            throw new IOException("this Java has no HmacSHA256", e);
        }
    }

    private static String nonce() {
        byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        return hex(nonce);
    }

    private static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte one : bytes) {
            hex.append(String.format("%02x", one));
        }
        return hex.toString();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
