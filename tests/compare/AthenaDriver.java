package org.pysync.compare;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.HttpURLConnection;
import java.net.URI;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.logging.Logger;

/**
 * Stands in for Athena's JDBC driver, which is not free and speaks TLS to AWS only: the same calls, the same retries of
 * throttling, the same words round Athena's reason for a failure. It runs statements and reads no results.
 */
public final class AthenaDriver implements Driver {
    private static final String PREFIX = "jdbc:awsathena://";
    private static final int RETRIES = 10;
    private static final long FIRST_PAUSE = 500, LONGEST_PAUSE = 20_000, FIRST_POLL = 100, LONGEST_POLL = 5_000;
    private static final String FAILED =
            "[Simba][AthenaJDBC](100071) An error has been thrown from the AWS Athena client. ";
    private static final ObjectMapper JSON = new ObjectMapper();

    static {
        try {
            java.sql.DriverManager.registerDriver(new AthenaDriver());
        } catch (SQLException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    @Override
    public Connection connect(String url, Properties info) {
        if (!acceptsURL(url)) {
            return null;
        }
        Session session = new Session(URI.create("http://" + url.substring(PREFIX.length())), info);
        return proxy(Connection.class, (self, method, arguments) -> switch (method.getName()) {
            case "createStatement" -> session.statement();
            case "close" -> session.closed = true;
            default -> throw new UnsupportedOperationException(method.getName());
        });
    }

    private static final class Session {
        private final URI address;
        private final String staging;
        private volatile boolean closed;

        Session(URI address, Properties info) {
            this.address = address;
            this.staging = info.getProperty("s3_staging_dir");
        }

        Statement statement() throws SQLException {
            if (closed) {
                throw new SQLException("[Simba][JDBC](10060) Connection has been closed.");
            }
            return proxy(Statement.class, (self, method, arguments) -> switch (method.getName()) {
                case "execute" -> run((String) arguments[0]);
                case "close" -> null;
                default -> throw new UnsupportedOperationException(method.getName());
            });
        }

        private boolean run(String sql) throws Exception {
            ObjectNode request = JSON.createObjectNode().put("QueryString", sql.strip().replaceFirst(";$", ""));
            request.putObject("ResultConfiguration").put("OutputLocation", staging);
            request.putObject("QueryExecutionContext").put("Database", "default");
            JsonNode id = JSON.createObjectNode().set("QueryExecutionId", call("Start", request).get("QueryExecutionId"));
            long pause = FIRST_POLL;
            while (true) {
                JsonNode status = call("Get", id).at("/QueryExecution/Status");
                switch (status.get("State").asText()) {
                    case "SUCCEEDED": return false;
                    case "FAILED", "CANCELLED": throw new SQLException(FAILED + status.path("StateChangeReason").asText());
                    default: Thread.sleep(pause);
                }
                pause = Math.min(2 * pause, LONGEST_POLL);
            }
        }

        private JsonNode call(String verb, JsonNode request) throws Exception {
            for (int retry = 0; ; retry++) {
                HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
                connection.setRequestProperty("X-Amz-Target", "AmazonAthena." + verb + "QueryExecution");
                connection.setRequestProperty("Content-Type", "application/x-amz-json-1.1");
                connection.setDoOutput(true);
                connection.getOutputStream().write(JSON.writeValueAsBytes(request));
                if (connection.getResponseCode() == 200) {
                    return read(connection.getInputStream());
                }
                JsonNode error = read(connection.getErrorStream());
                if (retry == RETRIES || !error.path("__type").asText().contains("Throttling")) {
                    throw new SQLException(FAILED + error);
                }
                Thread.sleep(Math.min(FIRST_PAUSE << retry, LONGEST_PAUSE));
            }
        }

        private static JsonNode read(InputStream answer) throws IOException {
            try (answer) {
                return JSON.readTree(answer);
            }
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(AthenaDriver.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public boolean acceptsURL(String url) {
        return url.startsWith(PREFIX);
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 2;
    }

    @Override
    public int getMinorVersion() {
        return 0;
    }

    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getLogger("athena");
    }
}
