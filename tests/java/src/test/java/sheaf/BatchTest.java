package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchOperationResult;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class BatchTest {
    private static final PartitionKey P = new PartitionKey("p");

    private static CosmosDatabase database;

    @BeforeAll
    static void createDatabase() {
        database = Account.database();
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    private static List<Integer> statuses(CosmosBatchResponse response) {
        return response.getResults().stream().map(CosmosBatchOperationResult::getStatusCode)
                .collect(Collectors.toList());
    }

    @Test
    void allKindsInOneTransaction() {
        CosmosContainer container = Account.container(database);
        CosmosBatch batch = CosmosBatch.createCosmosBatch(P);
        batch.createItemOperation(Account.json("{'id':'a','pk':'p','n':1}"));
        batch.upsertItemOperation(Account.json("{'id':'b','pk':'p'}"));
        batch.replaceItemOperation("a", Account.json("{'id':'a','pk':'p','n':2}"));
        batch.patchItemOperation("a", CosmosPatchOperations.create().increment("/n", 3));
        batch.readItemOperation("a");
        batch.deleteItemOperation("b");
        CosmosBatchResponse response = container.executeCosmosBatch(batch);
        assertTrue(response.isSuccessStatusCode());
        assertEquals(List.of(201, 201, 200, 200, 200, 204), statuses(response));
        ObjectNode read = response.getResults().get(4).getItem(ObjectNode.class);
        assertEquals(Account.json("{'id':'a','pk':'p','n':5}"), Account.own(read));
        assertEquals(read.get("_etag").asText(), response.getResults().get(4).getETag());
        assertTrue(response.getRequestCharge() > 0);
    }

    @Test
    void oneFailureUndoesAll() {
        CosmosContainer container = Account.container(database);
        container.createItem(Account.json("{'id':'a','pk':'p'}"));
        CosmosBatch batch = CosmosBatch.createCosmosBatch(P);
        batch.createItemOperation(Account.json("{'id':'b','pk':'p'}"));
        batch.createItemOperation(Account.json("{'id':'a','pk':'p'}"));
        batch.deleteItemOperation("a");
        CosmosBatchResponse response = container.executeCosmosBatch(batch);
        assertFalse(response.isSuccessStatusCode());
        assertEquals(List.of(424, 409, 424), statuses(response));
        assertEquals(200, container.readItem("a", P, ObjectNode.class).getStatusCode());
    }

    @Test
    void bulk() {
        CosmosContainer container = Account.container(database);
        List<CosmosItemOperation> operations = new ArrayList<>();
        for (int number = 0; number < 50; number++) {
            ObjectNode body = Account.json("{'id':'a','pk':'k" + number + "'}");
            operations.add(CosmosBulkOperations.getCreateItemOperation(body, new PartitionKey("k" + number)));
        }
        operations.add(CosmosBulkOperations.getReadItemOperation("nowhere", P));
        int made = 0;
        int missing = 0;
        for (CosmosBulkOperationResponse<Object> one : container.executeBulkOperations(operations)) {
            int status = one.getResponse().getStatusCode();
            made += status == 201 ? 1 : 0;
            missing += status == 404 ? 1 : 0;
        }
        assertEquals(50, made);
        assertEquals(1, missing);
    }
}
