package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PatchTest {
    private static final PartitionKey P = new PartitionKey("p");

    private static CosmosDatabase database;
    private static CosmosContainer container;

    @BeforeAll
    static void createContainer() {
        database = Account.database();
        container = Account.container(database);
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    private static CosmosItemResponse<ObjectNode> patch(
            String id, CosmosPatchOperations operations, CosmosPatchItemRequestOptions options) {
        return container.patchItem(id, P, operations, options, ObjectNode.class);
    }

    private static CosmosPatchItemRequestOptions options() {
        return new CosmosPatchItemRequestOptions();
    }

    private static CosmosPatchOperations operations() {
        return CosmosPatchOperations.create();
    }

    private static ObjectNode read(String id) {
        return container.readItem(id, P, ObjectNode.class).getItem();
    }

    @Test
    void allOperationsInOrder() {
        ObjectNode before = container
                .createItem(Account.json("{'id':'all','pk':'p','n':1,'f':0.5,'old':true,'tags':['b'],'x':{'y':1}}"))
                .getItem();
        CosmosItemResponse<ObjectNode> patched = patch(
                "all",
                operations()
                        .add("/tags/0", "a")
                        .add("/tags/-", "d")
                        .set("/tags/2", "c")
                        .replace("/x/y", Account.json("{'z':null}"))
                        .remove("/old")
                        .increment("/n", 41)
                        .increment("/f", 0.25)
                        .move("/x", "/moved"),
                options());
        assertEquals(200, patched.getStatusCode());
        assertEquals(
                Account.json("{'id':'all','pk':'p','n':42,'f':0.75,'tags':['a','b','c'],'moved':{'y':{'z':null}}}"),
                Account.own(patched.getItem()));
        assertEquals(before.get("_rid"), patched.getItem().get("_rid"));
        assertNotEquals(before.get("_etag"), patched.getItem().get("_etag"));
        assertTrue(patched.getRequestCharge() > 0);
        assertEquals(patched.getItem(), read("all"));
    }

    @Test
    void conditionsAndVersions() {
        String etag = container
                .createItem(Account.json("{'id':'cond','pk':'p','n':1}"))
                .getETag();
        CosmosPatchOperations increment = operations().increment("/n", 1);
        CosmosPatchItemRequestOptions one = options().setFilterPredicate("from c where c.n = 1");
        assertEquals(2, patch("cond", increment, one).getItem().get("n").asInt());
        CosmosException failed = Account.refused(412, () -> patch("cond", increment, one));
        assertEquals(1110, failed.getSubStatusCode());
        CosmosPatchItemRequestOptions known = options();
        known.setIfMatchETag(etag);
        Account.refused(412, () -> patch("cond", increment, known));
        CosmosPatchItemRequestOptions bad = options().setFilterPredicate("from c where");
        Account.refused(400, () -> patch("cond", increment, bad));
        assertEquals(2, read("cond").get("n").asInt());
    }

    @Test
    void contentResponseOnWriteCanBeLeftOut() {
        container.createItem(Account.json("{'id':'none','pk':'p'}"));
        CosmosPatchItemRequestOptions without = options();
        without.setContentResponseOnWriteEnabled(false);
        CosmosItemResponse<ObjectNode> patched = patch("none", operations().set("/n", 1), without);
        assertEquals(200, patched.getStatusCode());
        assertNull(patched.getItem());
        assertNotNull(patched.getETag());
        assertEquals(1, read("none").get("n").asInt());
    }

    @Test
    void refusalsLeaveTheItemAsItWas() {
        container.createItem(Account.json("{'id':'same','pk':'p','s':'text'}"));
        ObjectNode before = read("same");
        CosmosPatchOperations eleven = operations();
        for (int i = 0; i < 11; i++) {
            eleven.increment("/n", 1);
        }
        for (CosmosPatchOperations bad : new CosmosPatchOperations[] {
            operations().set("/id", "x"),
            operations().set("/pk", "x"),
            operations().set("/n", 1).remove("/absent"),
            operations().replace("/absent", 1),
            operations().add("/absent/x", 1),
            operations().increment("/s", 1),
            eleven,
        }) {
            Account.refused(400, () -> patch("same", bad, options()));
        }
        assertEquals(before, read("same"));
        Account.refused(404, () -> patch("absent", operations().set("/n", 1), options()));
    }
}
