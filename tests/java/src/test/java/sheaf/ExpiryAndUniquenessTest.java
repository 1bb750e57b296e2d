package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Documents that expire, values that no two documents share, and the end of all documents of a key. */
class ExpiryAndUniquenessTest {
    private static CosmosDatabase database;

    @BeforeAll
    static void createDatabase() {
        database = Account.database();
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    private static Map<String, Object> item(String id, String key) {
        Map<String, Object> item = new HashMap<>();
        item.put("id", id);
        item.put("pk", key);
        return item;
    }

    private static int status(Runnable call) {
        return assertThrows(CosmosException.class, call::run).getStatusCode();
    }

    private static long count(CosmosContainer container) {
        return container.queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), JsonNode.class).stream().count();
    }

    @Test
    void whatExpiresIsGone() throws InterruptedException {
        String id = Account.unique("c");
        database.createContainer(new CosmosContainerProperties(id, "/pk").setDefaultTimeToLiveInSeconds(-1));
        CosmosContainer container = database.getContainer(id);
        assertEquals(Integer.valueOf(-1), container.read().getProperties().getDefaultTimeToLiveInSeconds());
        container.createItem(item("stays", "a"));
        Map<String, Object> mortal = item("goes", "a");
        mortal.put("ttl", 1);
        container.createItem(mortal);
        while (count(container) > 1) {
            Thread.sleep(100);
        }
        assertEquals(404, status(() -> container.readItem("goes", new PartitionKey("a"), JsonNode.class)));
        container.createItem(item("goes", "a"));
        assertEquals(2, count(container));
        Map<String, Object> wrong = item("wrong", "a");
        wrong.put("ttl", 0);
        assertEquals(400, status(() -> container.createItem(wrong)));
    }

    @Test
    void uniqueValuesAreUniqueInTheirPartition() {
        String id = Account.unique("c");
        UniqueKeyPolicy policy = new UniqueKeyPolicy();
        policy.setUniqueKeys(Collections.singletonList(new UniqueKey(Collections.singletonList("/email"))));
        database.createContainer(new CosmosContainerProperties(id, "/pk").setUniqueKeyPolicy(policy));
        CosmosContainer container = database.getContainer(id);
        Map<String, Object> first = item("a", "x");
        first.put("email", "e");
        container.createItem(first);
        Map<String, Object> second = item("b", "x");
        second.put("email", "e");
        assertEquals(409, status(() -> container.createItem(second)));
        CosmosBatch batch = CosmosBatch.createCosmosBatch(new PartitionKey("x"));
        batch.deleteItemOperation("a");
        batch.createItemOperation(second);
        assertEquals(200, container.executeCosmosBatch(batch).getStatusCode());
        second.put("pk", "y");
        container.createItem(second);
        assertEquals(2, count(container));
    }

    @Test
    void allDocumentsOfAKeyAreDeleted() {
        String id = Account.unique("c");
        database.createContainer(new CosmosContainerProperties(id, "/pk"));
        CosmosContainer container = database.getContainer(id);
        for (int n = 0; n < 30; n++) {
            container.createItem(item("i" + n, n % 3 == 0 ? "kept" : "gone"));
        }
        container.deleteAllItemsByPartitionKey(new PartitionKey("gone"), new CosmosItemRequestOptions());
        assertEquals(10, count(container));
    }
}
