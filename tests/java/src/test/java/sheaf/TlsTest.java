package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.GatewayConnectionConfig;
import com.azure.cosmos.Http2ConnectionConfig;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The same port over TLS, the server's certificate in the JVM's trust store. */
@Tag("tls")
class TlsTest {
    private static void writesAndReads(CosmosClientBuilder builder, String endpoint) {
        try (CosmosClient client = builder.endpoint(endpoint).buildClient()) {
            String id = Account.unique("tls");
            client.createDatabase(id);
            CosmosContainer container = Account.container(
                    client.getDatabase(id), new CosmosContainerProperties("c", "/pk"), 25000);
            assertEquals(3, container.getFeedRanges().size());
            ObjectNode body = Account.json("{'id':'a','pk':'p'}");
            container.createItem(body);
            CosmosItemResponse<ObjectNode> read = container.readItem("a", new PartitionKey("p"), ObjectNode.class);
            assertEquals(body, Account.own(read.getItem()));
            String diagnostics = read.getDiagnostics().toString();
            assertTrue(diagnostics.contains(endpoint.substring(0, endpoint.length() - 1)), diagnostics);
            client.getDatabase(id).delete();
        }
    }

    private static String endpoint(String host) {
        return "https://" + host + ":" + URI.create(Account.ENDPOINT).getPort() + "/";
    }

    @Test
    void httpsOnTheSamePort() {
        writesAndReads(Account.builder(), endpoint("127.0.0.1"));
        writesAndReads(Account.builder(), endpoint("localhost"));
    }

    @Test
    void http2() {
        GatewayConnectionConfig config = new GatewayConnectionConfig()
                .setHttp2ConnectionConfig(new Http2ConnectionConfig().setEnabled(true));
        writesAndReads(Account.builder().gatewayMode(config), endpoint("localhost"));
    }
}
