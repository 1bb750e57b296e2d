package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The same port over TLS, the server's certificate in the JVM's trust store. */
@Tag("tls")
class TlsTest {
    @Test
    void httpsOnTheSamePort() {
        int port = URI.create(Account.ENDPOINT).getPort();
        for (String host : new String[] {"127.0.0.1", "localhost"}) {
            String endpoint = "https://" + host + ":" + port + "/";
            try (CosmosClient client = Account.builder().endpoint(endpoint).buildClient()) {
                String id = Account.unique("tls");
                client.createDatabase(id);
                CosmosContainer container = Account.container(
                        client.getDatabase(id), new CosmosContainerProperties("c", "/pk"), 25000);
                assertEquals(3, container.getFeedRanges().size());
                ObjectNode body = Account.json("{'id':'a','pk':'p'}");
                container.createItem(body);
                String diagnostics = container.readItem("a", new PartitionKey("p"), ObjectNode.class)
                        .getDiagnostics()
                        .toString();
                assertTrue(diagnostics.contains(endpoint.substring(0, endpoint.length() - 1)), diagnostics);
                client.getDatabase(id).delete();
            }
        }
    }
}
