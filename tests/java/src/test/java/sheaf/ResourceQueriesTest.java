package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosDatabaseProperties;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.ThroughputResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Queries over resources: databases, containers, and the offers that hold their throughput. */
class ResourceQueriesTest {
    private static final CosmosClient client = Account.client();
    private static CosmosDatabase database;

    @BeforeAll
    static void createDatabase() {
        database = Account.database();
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    @Test
    void databases() {
        String prefix = Account.unique("asked");
        for (String suffix : Arrays.asList("a", "b", "c")) {
            client.createDatabase(prefix + suffix);
        }
        SqlQuerySpec query = new SqlQuerySpec(
                "SELECT * FROM root r WHERE r.id = @id", new SqlParameter("@id", prefix + "b"));
        List<CosmosDatabaseProperties> found =
                client.queryDatabases(query, Queries.options()).stream().collect(Collectors.toList());
        assertEquals(1, found.size());
        assertEquals(prefix + "b", found.get(0).getId());
        assertEquals(
                client.getDatabase(prefix + "b").read().getProperties().getResourceId(), found.get(0).getResourceId());

        query = new SqlQuerySpec("SELECT * FROM c WHERE STARTSWITH(c.id, @p)", new SqlParameter("@p", prefix));
        List<String> ids = new ArrayList<>();
        client.queryDatabases(query, Queries.options()).iterableByPage(2).forEach(page -> {
            assertTrue(page.getResults().size() <= 2);
            page.getResults().forEach(one -> ids.add(one.getId()));
        });
        Collections.sort(ids);
        assertEquals(Arrays.asList(prefix + "a", prefix + "b", prefix + "c"), ids);
        for (String suffix : Arrays.asList("a", "b", "c")) {
            client.getDatabase(prefix + suffix).delete();
        }
    }

    @Test
    void containers() {
        for (String id : Arrays.asList("one", "two", "größe")) {
            database.createContainer(id, "/pk/" + (id.equals("two") ? "deep" : "x"));
        }
        List<CosmosContainerProperties> found = database
                .queryContainers("SELECT * FROM c WHERE c.id = 'größe'", new CosmosQueryRequestOptions())
                .stream().collect(Collectors.toList());
        assertEquals(1, found.size());
        assertEquals("größe", found.get(0).getId());
        assertEquals(Arrays.asList("/pk/x"), found.get(0).getPartitionKeyDefinition().getPaths());
        found = database.queryContainers("SELECT * FROM c WHERE c.partitionKey.paths[0] = '/pk/deep'")
                .stream().collect(Collectors.toList());
        assertEquals(1, found.size());
        assertEquals("two", found.get(0).getId());
        Account.refused(400, () -> database.queryContainers("SELECT * FORM c").stream().count());
    }

    @Test
    void throughputOfAContainer() {
        CosmosContainer container =
                Account.container(database, new CosmosContainerProperties(Account.unique("c"), "/pk"), 400);
        ThroughputResponse read = container.readThroughput();
        assertEquals(400, read.getProperties().getManualThroughput());
        assertEquals(400, read.getMinThroughput());
        assertEquals(false, read.isReplacePending());
        ThroughputResponse replaced = container.replaceThroughput(ThroughputProperties.createManualThroughput(800));
        assertEquals(200, replaced.getStatusCode());
        assertEquals(800, replaced.getProperties().getManualThroughput());
        assertEquals(800, container.readThroughput().getProperties().getManualThroughput());
        Account.refused(400, () -> container.replaceThroughput(ThroughputProperties.createManualThroughput(450)));
        Account.refused(400, () -> container.replaceThroughput(ThroughputProperties.createManualThroughput(100)));
    }

    @Test
    void throughputThatScales() {
        String id = Account.unique("c");
        database.createContainer(
                new CosmosContainerProperties(id, "/pk"), ThroughputProperties.createAutoscaledThroughput(4000));
        CosmosContainer container = database.getContainer(id);
        assertEquals(4000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
        container.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(6000));
        assertEquals(6000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
    }

    @Test
    void throughputKeepsItsKind() {
        CosmosContainer manual = Account.container(
                database, new CosmosContainerProperties(Account.unique("manual"), "/pk"), 400);
        Queries.refused(400, () -> manual.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(4000)));
        assertEquals(400, manual.readThroughput().getProperties().getManualThroughput());

        String id = Account.unique("scales");
        client.createDatabase(id, ThroughputProperties.createAutoscaledThroughput(45000));
        CosmosDatabase scales = client.getDatabase(id);
        ThroughputResponse read = scales.readThroughput();
        assertEquals(45000, read.getProperties().getAutoscaleMaxThroughput());
        assertEquals(5000, read.getMinThroughput());
        Queries.refused(400, () -> scales.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(4000)));
        Queries.refused(400, () -> scales.replaceThroughput(ThroughputProperties.createManualThroughput(5000)));
        scales.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(5000));
        assertEquals(5000, scales.readThroughput().getProperties().getAutoscaleMaxThroughput());
        scales.delete();
    }

    @Test
    void throughputOfADatabase() {
        String id = Account.unique("shared");
        client.createDatabase(id, ThroughputProperties.createManualThroughput(500));
        CosmosDatabase shared = client.getDatabase(id);
        assertEquals(500, shared.readThroughput().getProperties().getManualThroughput());
        shared.replaceThroughput(ThroughputProperties.createManualThroughput(700));
        assertEquals(700, shared.readThroughput().getProperties().getManualThroughput());
        // A container of it has none of its own.
        shared.createContainer("c", "/pk");
        Queries.refused(400, () -> shared.getContainer("c").readThroughput());
        shared.delete();
        Queries.refused(400, database::readThroughput);
    }
}
