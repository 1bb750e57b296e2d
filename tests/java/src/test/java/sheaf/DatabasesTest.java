package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosDatabaseProperties;
import com.azure.cosmos.models.CosmosDatabaseResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;

class DatabasesTest {
    private final CosmosClient client = Account.client();

    @Test
    void areCreatedReadAndDeleted() {
        String id = Account.unique("db");
        CosmosDatabaseResponse created = client.createDatabase(id);
        assertEquals(201, created.getStatusCode());
        assertTrue(created.getRequestCharge() > 0);

        CosmosDatabaseResponse read = client.getDatabase(id).read();
        assertEquals(200, read.getStatusCode());
        assertEquals(id, read.getProperties().getId());
        assertEquals(created.getProperties().getResourceId(), read.getProperties().getResourceId());
        assertEquals(created.getProperties().getETag(), read.getProperties().getETag());

        assertEquals(204, client.getDatabase(id).delete().getStatusCode());
        Account.refused(404, () -> client.getDatabase(id).read());
        Account.refused(404, () -> client.getDatabase(id).delete());
    }

    @Test
    void areReadOverPlainHttp() {
        String id = Account.unique("db");
        client.createDatabase(id);
        String diagnostics = client.getDatabase(id).read().getDiagnostics().toString();
        String endpoint = Account.ENDPOINT.substring(0, Account.ENDPOINT.length() - 1);
        assertTrue(endpoint.startsWith("http://") && diagnostics.contains(endpoint), diagnostics);
        client.getDatabase(id).delete();
    }

    @Test
    void createIfNotExistsCreatesOnce() {
        String id = Account.unique("db");
        assertEquals(201, client.createDatabaseIfNotExists(id).getStatusCode());
        assertEquals(200, client.createDatabaseIfNotExists(id).getStatusCode());
        client.getDatabase(id).delete();
    }

    @Test
    void areListed() {
        List<String> ids = new ArrayList<>();
        for (int n = 0; n < 5; n++) {
            ids.add(client.createDatabase(Account.unique("listed")).getProperties().getId());
        }
        List<String> listed = new ArrayList<>();
        for (CosmosDatabaseProperties database : client.readAllDatabases()) {
            listed.add(database.getId());
        }
        assertTrue(listed.containsAll(ids));
        ids.forEach(id -> client.getDatabase(id).delete());
    }

    /** The client tells sessions apart by what is left of a container's rid without its database. */
    @Test
    void sessionsOfOneDatabaseAreNotThoseOfAnother() {
        CosmosContainer busy = Account.container(Account.database());
        CosmosContainer calm = Account.container(Account.database());
        for (int n = 0; n < 5; n++) {
            busy.createItem(Account.json("{'id':'i" + n + "','pk':'p'}"));
        }
        calm.createItem(Account.json("{'id':'a','pk':'p'}"));
        // A query first: a point read that fails for its session is sent again without one.
        Queries.assertRows("['a']", Queries.all(calm, "SELECT VALUE c.id FROM c"));
        assertEquals("a", calm.readItem("a", new PartitionKey("p"), ObjectNode.class).getItem().get("id").asText());
    }

    @Test
    void badNamesAndThroughputsAreRefused() {
        String id = Account.unique("taken");
        client.createDatabase(id);
        Account.refused(409, () -> client.createDatabase(id));
        Account.refused(400, () -> client.createDatabase("x".repeat(256)));
        Account.refused(400, () -> client.createDatabase(
                Account.unique("db"), ThroughputProperties.createManualThroughput(300)));
        Account.refused(400, () -> client.createDatabase(
                Account.unique("db"), ThroughputProperties.createAutoscaledThroughput(1500)));
        client.getDatabase(id).delete();
    }

    @Test
    void namesInUnicode() {
        for (String prefix : Arrays.asList("größe", "数据", "with space")) {
            String id = Account.unique(prefix);
            assertEquals(201, client.createDatabase(id).getStatusCode());
            assertEquals(id, client.getDatabase(id).read().getProperties().getId());
            client.getDatabase(id).delete();
        }
    }

    @Test
    void aWrongKeyIsRefused() {
        String key = Base64.getEncoder().encodeToString(new byte[64]);
        assertThrows(CosmosException.class, () -> {
            try (CosmosClient wrong = Account.builder().key(key).buildClient()) {
                wrong.createDatabase("never");
            } catch (RuntimeException error) {
                Throwable cause = error;
                while (cause != null && !(cause instanceof CosmosException)) {
                    cause = cause.getCause();
                }
                assertEquals(401, ((CosmosException) cause).getStatusCode());
                throw cause;
            }
        });
    }
}
