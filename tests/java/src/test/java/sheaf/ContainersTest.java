package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.ConflictResolutionMode;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosContainerResponse;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ContainersTest {
    private static CosmosDatabase database;

    @BeforeAll
    static void createDatabase() {
        database = Account.database();
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    private static PartitionKeyDefinition key(PartitionKind kind, String... paths) {
        return new PartitionKeyDefinition()
                .setKind(kind)
                .setVersion(PartitionKeyDefinitionVersion.V2)
                .setPaths(Arrays.asList(paths));
    }

    @Test
    void areCreatedReadAndDeleted() {
        String id = Account.unique("c");
        CosmosContainerResponse created = database.createContainer(
                new CosmosContainerProperties(id, key(PartitionKind.HASH, "/pk")));
        assertEquals(201, created.getStatusCode());
        CosmosContainer container = database.getContainer(id);

        CosmosContainerProperties read = container.read().getProperties();
        assertEquals(id, read.getId());
        assertEquals(created.getProperties().getResourceId(), read.getResourceId());
        assertEquals(Collections.singletonList("/pk"), read.getPartitionKeyDefinition().getPaths());
        assertEquals(PartitionKind.HASH, read.getPartitionKeyDefinition().getKind());
        assertEquals(PartitionKeyDefinitionVersion.V2, read.getPartitionKeyDefinition().getVersion());
        assertEquals(IndexingMode.CONSISTENT, read.getIndexingPolicy().getIndexingMode());
        assertEquals("/*", read.getIndexingPolicy().getIncludedPaths().get(0).getPath());
        assertEquals("/\"_etag\"/?", read.getIndexingPolicy().getExcludedPaths().get(0).getPath());
        assertEquals(ConflictResolutionMode.LAST_WRITER_WINS, read.getConflictResolutionPolicy().getMode());

        assertEquals(204, container.delete().getStatusCode());
        Account.refused(404, container::read);
        Account.refused(404, container::delete);
    }

    @Test
    void createIfNotExistsCreatesOnce() {
        String id = Account.unique("c");
        assertEquals(201, database.createContainerIfNotExists(id, "/pk").getStatusCode());
        assertEquals(200, database.createContainerIfNotExists(id, "/pk").getStatusCode());
    }

    @Test
    void areListed() {
        CosmosDatabase own = Account.database();
        Set<String> ids = new HashSet<>(Arrays.asList("one", "two", "three"));
        ids.forEach(id -> own.createContainer(id, "/pk"));
        Set<String> listed = new HashSet<>();
        own.readAllContainers().forEach(properties -> listed.add(properties.getId()));
        assertEquals(ids, listed);
        own.delete();
    }

    @Test
    void propertiesMakeTheRoundTripAndReplaceChangesThem() {
        CosmosContainerProperties wanted = new CosmosContainerProperties(Account.unique("c"), "/a/b");
        wanted.setDefaultTimeToLiveInSeconds(3600);
        wanted.setIndexingPolicy(new IndexingPolicy()
                .setIncludedPaths(Collections.singletonList(new IncludedPath("/*")))
                .setExcludedPaths(Collections.singletonList(new ExcludedPath("/secret/*"))));
        wanted.setUniqueKeyPolicy(new UniqueKeyPolicy().setUniqueKeys(Arrays.asList(
                new UniqueKey(Collections.singletonList("/email")),
                new UniqueKey(Arrays.asList("/first", "/last")))));
        database.createContainer(wanted);
        CosmosContainer container = database.getContainer(wanted.getId());

        CosmosContainerProperties read = container.read().getProperties();
        assertEquals(3600, read.getDefaultTimeToLiveInSeconds());
        assertEquals(2, read.getUniqueKeyPolicy().getUniqueKeys().size());
        assertEquals(Arrays.asList("/first", "/last"), read.getUniqueKeyPolicy().getUniqueKeys().get(1).getPaths());
        assertTrue(read.getIndexingPolicy().getExcludedPaths().stream()
                .anyMatch(path -> path.getPath().equals("/secret/*")));

        read.setDefaultTimeToLiveInSeconds(-1);
        CosmosContainerResponse replaced = container.replace(read);
        assertEquals(200, replaced.getStatusCode());
        assertEquals(-1, replaced.getProperties().getDefaultTimeToLiveInSeconds());
        assertEquals(read.getResourceId(), replaced.getProperties().getResourceId());
        assertNotEquals(read.getETag(), replaced.getProperties().getETag());

        CosmosContainerProperties otherKey = container.read().getProperties();
        otherKey.setPartitionKeyDefinition(key(PartitionKind.HASH, "/other"));
        Account.refused(400, () -> container.replace(otherKey));
    }

    @Test
    void badDefinitionsAreRefused() {
        Account.refused(400, () -> database.createContainer(Account.unique("bad"), "/a/*"));
        Account.refused(400, () -> database.createContainer(
                new CosmosContainerProperties(Account.unique("bad"), key(PartitionKind.HASH, "/a", "/b"))));
        Account.refused(400, () -> database.createContainer(
                new CosmosContainerProperties(Account.unique("bad"), "/pk").setDefaultTimeToLiveInSeconds(0)));
        Account.refused(400, () -> database.createContainer(
                Account.unique("bad"), "/pk", ThroughputProperties.createManualThroughput(450)));
        String id = Account.unique("c");
        database.createContainer(id, "/pk");
        Account.refused(409, () -> database.createContainer(id, "/pk"));
        Account.refused(404, () -> Account.client().getDatabase("no such database").createContainer("c", "/pk"));
    }

    @Test
    void aSmallContainerHasOnePartition() {
        assertEquals(1, Account.container(database).getFeedRanges().size());
    }

    @Test
    void threePartitionsHoldTheItems() {
        CosmosContainer container =
                Account.container(database, new CosmosContainerProperties(Account.unique("c"), "/pk"), 25000);
        List<FeedRange> ranges = container.getFeedRanges();
        assertEquals(3, ranges.size());
        Set<String> served = new HashSet<>();
        for (int n = 0; n < 60; n++) {
            ObjectNode item = Account.json("{'id':'same','pk':'key-" + n + "'}");
            CosmosItemResponse<ObjectNode> created = container.createItem(item);
            String range = created.getResponseHeaders().get("x-ms-documentdb-partitionkeyrangeid");
            assertTrue(created.getSessionToken().startsWith(range + ":"));
            served.add(range);
        }
        assertEquals(3, served.size());
        for (int n = 0; n < 60; n++) {
            PartitionKey pk = new PartitionKey("key-" + n);
            assertEquals("key-" + n, container.readItem("same", pk, ObjectNode.class).getItem().get("pk").asText());
        }
    }

    @Test
    void hierarchicalKeys() {
        CosmosContainerProperties properties = new CosmosContainerProperties(
                Account.unique("c"), key(PartitionKind.MULTI_HASH, "/tenant", "/user", "/session"));
        CosmosContainer container = Account.container(database, properties, 25000);
        assertEquals(
                PartitionKind.MULTI_HASH, container.read().getProperties().getPartitionKeyDefinition().getKind());
        for (String tenant : Arrays.asList("t0", "t1", "t2")) {
            for (int user = 0; user < 3; user++) {
                ObjectNode item = Account.json(
                        "{'id':'one','tenant':'" + tenant + "','user':" + user + ",'session':'s'}");
                PartitionKey pk = new PartitionKeyBuilder().add(tenant).add(user).add("s").build();
                assertEquals(201, container.createItem(item).getStatusCode());
                assertEquals(item, Account.own(container.readItem("one", pk, ObjectNode.class).getItem()));
            }
        }
        PartitionKey absent = new PartitionKeyBuilder().add("t0").add(0).add("other").build();
        Account.refused(404, () -> container.readItem("one", absent, ObjectNode.class));
        PartitionKey present = new PartitionKeyBuilder().add("t0").add(0).add("s").build();
        assertEquals(204, container.deleteItem("one", present, new CosmosItemRequestOptions()).getStatusCode());
        Account.refused(404, () -> container.readItem("one", present, ObjectNode.class));
    }
}
