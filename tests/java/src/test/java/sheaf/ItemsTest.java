package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ItemsTest {
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

    private static CosmosItemRequestOptions options() {
        return new CosmosItemRequestOptions();
    }

    @Test
    void areCreatedReadReplacedUpsertedAndDeleted() {
        CosmosContainer container = Account.container(database);
        ObjectNode body = Account.json("{'id':'a','pk':'p','n':1,'nested':{'list':[1,'two',null,true]}}");

        CosmosItemResponse<ObjectNode> created = container.createItem(body, P, options());
        assertEquals(201, created.getStatusCode());
        assertEquals(body, Account.own(created.getItem()));
        assertEquals(created.getETag(), created.getItem().get("_etag").asText());
        assertTrue(created.getRequestCharge() > 0);

        CosmosItemResponse<ObjectNode> read = container.readItem("a", P, ObjectNode.class);
        assertEquals(200, read.getStatusCode());
        assertEquals(created.getItem(), read.getItem());
        assertTrue(read.getRequestCharge() < created.getRequestCharge());

        ObjectNode second = Account.json("{'id':'a','pk':'p','n':2}");
        CosmosItemResponse<ObjectNode> replaced = container.replaceItem(second, "a", P, options());
        assertEquals(200, replaced.getStatusCode());
        assertEquals(second, Account.own(replaced.getItem()));
        assertEquals(created.getItem().get("_rid"), replaced.getItem().get("_rid"));
        assertNotEquals(created.getETag(), replaced.getETag());

        assertEquals(200, container.upsertItem(Account.json("{'id':'a','pk':'p','n':3}")).getStatusCode());
        assertEquals(201, container.upsertItem(Account.json("{'id':'b','pk':'p'}")).getStatusCode());

        assertEquals(204, container.deleteItem("a", P, options()).getStatusCode());
        Account.refused(404, () -> container.readItem("a", P, ObjectNode.class));
        Account.refused(404, () -> container.deleteItem("a", P, options()));
    }

    @Test
    void contentResponseOnWriteCanBeLeftOut() {
        CosmosContainer container = Account.container(database);
        CosmosItemRequestOptions without = options().setContentResponseOnWriteEnabled(false);
        CosmosItemResponse<ObjectNode> created =
                container.createItem(Account.json("{'id':'a','pk':'p'}"), P, without);
        assertEquals(201, created.getStatusCode());
        assertNull(created.getItem());
        assertNotNull(created.getETag());
        CosmosItemResponse<ObjectNode> replaced =
                container.replaceItem(Account.json("{'id':'a','pk':'p','n':1}"), "a", P, without);
        assertNull(replaced.getItem());
        assertEquals(1, container.readItem("a", P, ObjectNode.class).getItem().get("n").asInt());

        try (CosmosClient quiet = Account.builder().contentResponseOnWriteEnabled(false).buildClient()) {
            CosmosContainer same = quiet.getDatabase(database.getId()).getContainer(container.getId());
            assertNull(same.createItem(Account.json("{'id':'b','pk':'p'}")).getItem());
            assertEquals("b", same.readItem("b", P, ObjectNode.class).getItem().get("id").asText());
        }
    }

    @Test
    void valuesMakeTheRoundTrip() {
        CosmosContainer container = Account.container(database);
        ObjectNode body = Account.json("{'id':'values','pk':'p','empty':'','nothing':null,'yes':true,'list':[],"
                + "'object':{},'numbers':[0,-1,1.5,1.0E300,9007199254740991],'deep':{'a':[{'b':[[1]]}]}}");
        body.put("escapes", "quote \" backslash \\ newline \n tab \t nul \u0000 separator \u2028");
        body.put("unicode", "Größe 数据 \uD83E\uDD80");
        body.put("long", "long text ".repeat(10_000));
        container.createItem(body);
        assertEquals(body, Account.own(container.readItem("values", P, ObjectNode.class).getItem()));
    }

    @Test
    void idsOfEveryKind() {
        CosmosContainer container = Account.container(database);
        List<String> ids = Arrays.asList(
                "simple", "with space", "größe", "数据", "\uD83E\uDD80", "a%20b", "100%", "a+b&c=d", "semi;colon",
                "<angle>", "dash-dot.tilde~", "@:!$()*[]{}|^`", "x".repeat(255));
        for (String id : ids) {
            ObjectNode body = Account.json("{'pk':'p'}");
            body.put("id", id);
            assertEquals(201, container.createItem(body).getStatusCode(), id);
            assertEquals(id, container.readItem(id, P, ObjectNode.class).getItem().get("id").asText());
            assertEquals(204, container.deleteItem(id, P, options()).getStatusCode(), id);
        }
    }

    @Test
    void etagsGuardWrites() {
        CosmosContainer container = Account.container(database);
        String first = container.createItem(Account.json("{'id':'a','pk':'p','n':1}")).getETag();
        String second = container
                .replaceItem(Account.json("{'id':'a','pk':'p','n':2}"), "a", P, options().setIfMatchETag(first))
                .getETag();
        ObjectNode third = Account.json("{'id':'a','pk':'p','n':3}");
        Account.refused(412, () -> container.replaceItem(third, "a", P, options().setIfMatchETag(first)));
        Account.refused(412, () -> container.upsertItem(third, P, options().setIfMatchETag(first)));
        Account.refused(412, () -> container.deleteItem("a", P, options().setIfMatchETag(first)));
        assertEquals(2, container.readItem("a", P, ObjectNode.class).getItem().get("n").asInt());

        CosmosItemResponse<ObjectNode> unchanged =
                container.readItem("a", P, options().setIfNoneMatchETag(second), ObjectNode.class);
        assertEquals(304, unchanged.getStatusCode());
        assertNull(unchanged.getItem());
        assertEquals(204, container.deleteItem("a", P, options().setIfMatchETag(second)).getStatusCode());
    }

    @Test
    void keysOfEveryTypeAreKeysOfTheirOwn() {
        for (int throughput : new int[] {400, 25000}) {
            CosmosContainer container = Account.container(
                    database, new CosmosContainerProperties(Account.unique("c"), "/pk"), throughput);
            List<Object> keys = Arrays.asList("", "1", 1, 0, -1, 1.5, true, false, null, "größe", "x".repeat(500));
            for (Object key : keys) {
                ObjectNode body = Account.json("{'id':'a'}");
                body.set("pk", Account.value(key));
                body.put("text", String.valueOf(key));
                assertEquals(201, container.createItem(body).getStatusCode(), String.valueOf(key));
            }
            container.createItem(Account.json("{'id':'a','text':'none'}"));
            for (Object key : keys) {
                ObjectNode read = container.readItem("a", new PartitionKey(key), ObjectNode.class).getItem();
                assertEquals(String.valueOf(key), read.get("text").asText());
            }
            ObjectNode read = container.readItem("a", PartitionKey.NONE, ObjectNode.class).getItem();
            assertEquals("none", read.get("text").asText());
        }
    }

    @Test
    void anotherIdRenames() {
        CosmosContainer container = Account.container(database);
        container.createItem(Account.json("{'id':'a','pk':'p'}"));
        container.createItem(Account.json("{'id':'taken','pk':'p'}"));
        Account.refused(409, () -> container.replaceItem(Account.json("{'id':'taken','pk':'p'}"), "a", P, options()));
        container.replaceItem(Account.json("{'id':'b','pk':'p','n':1}"), "a", P, options());
        assertEquals(1, container.readItem("b", P, ObjectNode.class).getItem().get("n").asInt());
        Account.refused(404, () -> container.readItem("a", P, ObjectNode.class));
    }

    @Test
    void errorsHaveTheServicesStatus() {
        CosmosContainer container = Account.container(database);
        ObjectNode body = Account.json("{'id':'a','pk':'p'}");
        container.createItem(body);
        Account.refused(409, () -> container.createItem(body));
        Account.refused(404, () -> container.replaceItem(Account.json("{'id':'b','pk':'p'}"), "b", P, options()));
        CosmosException mismatch = Account.refused(
                400, () -> container.createItem(Account.json("{'id':'b','pk':'q'}"), P, options()));
        assertEquals(1001, mismatch.getSubStatusCode());
        Account.refused(400, () -> container.replaceItem(Account.json("{'id':'a','pk':'q'}"), "a", P, options()));
        Account.refused(400, () -> container.createItem(Account.json("{'pk':'p'}"), P, options()));
        ObjectNode big = Account.json("{'id':'big','pk':'p'}").put("text", "x".repeat(2 * 1024 * 1024));
        Account.refused(413, () -> container.createItem(big));
        Account.refused(404, () -> container.readItem("big", P, ObjectNode.class));
        CosmosContainer nowhere = database.getContainer("no such container");
        Account.refused(404, () -> nowhere.createItem(body, P, options()));
    }

    @Test
    void sessionsReadTheirOwnWrites() {
        CosmosContainer container = Account.container(database);
        long last = 0;
        String token = null;
        for (int n = 0; n < 5; n++) {
            CosmosItemResponse<ObjectNode> written =
                    container.upsertItem(Account.json("{'id':'a','pk':'p','n':" + n + "}"));
            token = written.getSessionToken();
            long lsn = Long.parseLong(token.split("#")[1]);
            assertTrue(lsn > last, token);
            last = lsn;
            assertEquals(n, container.readItem("a", P, ObjectNode.class).getItem().get("n").asInt());
        }
        try (CosmosClient other = Account.builder().buildClient()) {
            CosmosContainer same = other.getDatabase(database.getId()).getContainer(container.getId());
            CosmosItemResponse<ObjectNode> read =
                    same.readItem("a", P, options().setSessionToken(token), ObjectNode.class);
            assertEquals(4, read.getItem().get("n").asInt());
            CosmosException future = Account.refused(404, () -> same.readItem(
                    "a", P, options().setSessionToken("0:-1#999999999"), ObjectNode.class));
            assertEquals(1002, future.getSubStatusCode());
        }
    }

    @Test
    void weakerConsistencyIsServed() {
        CosmosContainer container = Account.container(database);
        container.createItem(Account.json("{'id':'a','pk':'p'}"));
        for (ConsistencyLevel level : Arrays.asList(
                ConsistencyLevel.SESSION, ConsistencyLevel.CONSISTENT_PREFIX, ConsistencyLevel.EVENTUAL)) {
            CosmosItemResponse<ObjectNode> read =
                    container.readItem("a", P, options().setConsistencyLevel(level), ObjectNode.class);
            assertEquals(200, read.getStatusCode());
        }
    }

    @Test
    void manyThreadsWriteAtOnce() throws Exception {
        CosmosContainer container =
                Account.container(database, new CosmosContainerProperties(Account.unique("c"), "/pk"), 25000);
        ExecutorService threads = Executors.newFixedThreadPool(16);
        List<Future<?>> results = new ArrayList<>();
        for (int n = 0; n < 200; n++) {
            ObjectNode body = Account.json("{'id':'i" + n + "','pk':" + n % 9 + "}");
            PartitionKey key = new PartitionKey(n % 9);
            results.add(threads.submit(() -> {
                container.createItem(body);
                String id = body.get("id").asText();
                assertEquals(body, Account.own(container.readItem(id, key, ObjectNode.class).getItem()));
            }));
        }
        for (Future<?> result : results) {
            result.get();
        }
        threads.shutdown();
    }
}
