package sheaf;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A server of one test's own, for what no test may do to the shared one: to stop it. */
final class Server implements AutoCloseable {
    final String endpoint;
    private final Process process;

    Server(Path directory) throws IOException {
        ProcessBuilder command = new ProcessBuilder(
                System.getenv("SHEAF_BIN"), "serve", "--port", "0", "--data-dir", directory.toString());
        command.environment().keySet().removeIf(name -> name.startsWith("SHEAF_"));
        process = command.redirectError(directory.resolve("server.log").toFile()).start();
        BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String ready = output.readLine();
        String prefix = "ready endpoint=";
        if (ready == null || !ready.startsWith(prefix)) {
            process.destroy();
            throw new IOException("the server did not start: " + ready);
        }
        endpoint = ready.substring(prefix.length());
    }

    /** Stops the server in good order. */
    @Override
    public void close() throws IOException, InterruptedException {
        process.destroy();
        if (process.waitFor() != 0) {
            throw new IOException("the server did not stop cleanly: exit code " + process.exitValue());
        }
    }
}
