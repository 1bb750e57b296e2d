package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.function.Executable;

/** The account under test, and what every test class needs of it. */
final class Account {
    static final String ENDPOINT = System.getenv().getOrDefault("SHEAF_ENDPOINT", "http://127.0.0.1:8081/");

    /** The published emulator key. */
    static final String KEY =
            "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static CosmosClient shared;

    private Account() {}

    static CosmosClientBuilder builder() {
        return new CosmosClientBuilder()
                .endpoint(ENDPOINT)
                .key(KEY)
                .gatewayMode()
                .consistencyLevel(ConsistencyLevel.SESSION)
                .contentResponseOnWriteEnabled(true);
    }

    /** A client that lives as long as the run. */
    static synchronized CosmosClient client() {
        if (shared == null) {
            shared = builder().buildClient();
        }
        return shared;
    }

    /** A name no other test uses. */
    static String unique(String prefix) {
        return prefix + "-" + UUID.randomUUID();
    }

    static CosmosDatabase database() {
        String id = unique("java");
        client().createDatabase(id);
        return client().getDatabase(id);
    }

    static CosmosContainer container(CosmosDatabase database, CosmosContainerProperties properties, int throughput) {
        database.createContainer(properties, ThroughputProperties.createManualThroughput(throughput));
        return database.getContainer(properties.getId());
    }

    static CosmosContainer container(CosmosDatabase database) {
        return container(database, new CosmosContainerProperties(unique("c"), "/pk"), 400);
    }

    /** Asserts that the call fails with this status. */
    static CosmosException refused(int status, Executable call) {
        CosmosException failure = assertThrows(CosmosException.class, call);
        assertEquals(status, failure.getStatusCode(), failure.getShortMessage());
        assertNotNull(failure.getActivityId());
        return failure;
    }

    static ObjectNode json(String text) {
        try {
            return (ObjectNode) JSON.readTree(text.replace('\'', '"'));
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(text, error);
        }
    }

    static JsonNode value(Object value) {
        return JSON.valueToTree(value);
    }

    /** The members of an item that its user wrote. */
    static ObjectNode own(JsonNode item) {
        ObjectNode own = JSON.createObjectNode();
        for (Map.Entry<String, JsonNode> member : item.properties()) {
            if (!member.getKey().startsWith("_")) {
                own.set(member.getKey(), member.getValue());
            }
        }
        return own;
    }
}
