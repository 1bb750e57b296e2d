package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Pages, and reading on from a token. */
class QueryPagingTest {
    private static CosmosDatabase database;
    private static CosmosContainer one;
    private static CosmosContainer three;

    @BeforeAll
    static void load() {
        database = Account.database();
        one = Queries.loaded(database, properties("one"), 400);
        three = Queries.loaded(database, properties("three"), 30000);
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    static Stream<CosmosContainer> containers() {
        return Stream.of(one, three);
    }

    private static CosmosContainerProperties properties(String id) {
        List<CompositePath> composite = Arrays.asList(
                new CompositePath().setPath("/color").setOrder(CompositePathSortOrder.ASCENDING),
                new CompositePath().setPath("/n").setOrder(CompositePathSortOrder.DESCENDING));
        return new CosmosContainerProperties(id, "/pk")
                .setIndexingPolicy(new IndexingPolicy().setCompositeIndexes(Collections.singletonList(composite)));
    }

    /** Queries whose pages the client can read on from, and the number of their rows. */
    private static Map<String, Integer> resumable() {
        Map<String, Integer> queries = new LinkedHashMap<>();
        queries.put("SELECT * FROM c", 60);
        queries.put("SELECT VALUE c.n FROM c WHERE c.even", 30);
        queries.put("SELECT c.id, t.name FROM c JOIN t IN c.tags WHERE c.n < 30", 43);
        queries.put("SELECT VALUE c.n FROM c ORDER BY c.n DESC", 60);
        queries.put("SELECT c.id, c.color FROM c ORDER BY c.color", 60);
        queries.put("SELECT c.id, c.color FROM c ORDER BY c.color DESC", 60);
        queries.put("SELECT c.id FROM c ORDER BY c.color, c.n DESC", 60);
        queries.put("SELECT c.id FROM c ORDER BY c.color DESC, c.n", 60);
        queries.put("SELECT TOP 13 c.id FROM c ORDER BY c.price", 13);
        queries.put("SELECT c.id FROM c ORDER BY c.n OFFSET 11 LIMIT 13", 13);
        queries.put("SELECT c.id FROM c OFFSET 11 LIMIT 13", 13);
        return queries;
    }

    @ParameterizedTest
    @MethodSource("containers")
    void everyPageSizeGivesTheSameRows(CosmosContainer container) {
        resumable().forEach((sql, count) -> {
            List<JsonNode> whole = Queries.all(container, sql);
            assertEquals(count, whole.size(), sql);
            assertEquals(count.longValue(), whole.stream().distinct().count(), sql);
            for (int size : count > 30 ? new int[] {3, -1} : new int[] {1, 3, -1}) {
                List<FeedResponse<JsonNode>> pages = Queries.pages(container, sql, Queries.options(), size);
                assertEquals(Queries.texts(whole), Queries.texts(Queries.rows(pages)), sql);
                pages.forEach(page -> assertTrue(size < 0 || page.getResults().size() <= size));
                // Whether there is more behind a full page is for the next one to find out.
                FeedResponse<JsonNode> last = pages.get(pages.size() - 1);
                if (size < 0 || last.getResults().size() < size) {
                    assertNull(last.getContinuationToken(), sql);
                }
            }
        });
    }

    @ParameterizedTest
    @MethodSource("containers")
    void tokensReadOn(CosmosContainer container) {
        resumable().forEach((sql, count) -> {
            List<JsonNode> whole = Queries.all(container, sql);
            for (int size : count > 30 ? new int[] {7, -1} : new int[] {1, 3}) {
                List<FeedResponse<JsonNode>> pages = Queries.resumed(container, sql, Queries.options(), size);
                assertEquals(Queries.texts(whole), Queries.texts(Queries.rows(pages)), sql + " by " + size);
                assertTrue(size < 0 || pages.size() >= count / size, sql);
            }
        });
    }

    @ParameterizedTest
    @MethodSource("containers")
    void oneLogicalPartitionHasPagesToo(CosmosContainer container) {
        for (String sql : Arrays.asList(
                "SELECT * FROM c",
                "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
                "SELECT VALUE t FROM c JOIN t IN c.tags")) {
            List<JsonNode> whole =
                    Queries.all(container, sql, Queries.options().setPartitionKey(new PartitionKey("k3")));
            assertTrue(whole.size() > 5, sql);
            for (int size : new int[] {1, 3, -1}) {
                List<FeedResponse<JsonNode>> pages = Queries.resumed(
                        container, sql, Queries.options().setPartitionKey(new PartitionKey("k3")), size);
                assertEquals(Queries.texts(whole), Queries.texts(Queries.rows(pages)), sql + " by " + size);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("containers")
    void distinctAndGroupsHavePages(CosmosContainer container) {
        for (String sql : Arrays.asList(
                "SELECT DISTINCT VALUE c.n % 10 FROM c", "SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk")) {
            List<String> whole = Queries.sorted(Queries.all(container, sql));
            assertEquals(sql.contains("DISTINCT") ? 10 : 9, whole.size());
            for (int size : new int[] {1, 3, -1}) {
                List<FeedResponse<JsonNode>> pages = Queries.pages(container, sql, Queries.options(), size);
                assertEquals(whole, Queries.sorted(Queries.rows(pages)));
            }
        }
        String ordered = "SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk DESC";
        // Pages with a new value each: the client's token forgets the last one in an empty page.
        Queries.assertRows(
                "['k8','k7','k6','k5','k4','k3','k2','k1','k0']",
                Queries.rows(Queries.resumed(container, ordered, Queries.options(), 8)));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void tokensSeeLaterWritesAsAnOrderedReadWould(CosmosContainer container) {
        String sql = "SELECT VALUE c.n FROM c WHERE c.n > 50 OR c.n < 0 ORDER BY c.n";
        FeedResponse<JsonNode> first = Queries.pages(container, sql, Queries.options(), 4).get(0);
        Queries.assertRows("[51,52,53,54]", first.getResults());
        container.createItem(Account.json("{'id':'before','pk':'k1','n':-1}"));
        container.createItem(Account.json("{'id':'after','pk':'k2','n':56.5}"));
        List<JsonNode> rest = new ArrayList<>();
        container.queryItems(sql, Queries.options(), JsonNode.class)
                .iterableByPage(first.getContinuationToken(), 4)
                .forEach(page -> rest.addAll(page.getResults()));
        Queries.assertRows("[55,56,56.5,57,58,59]", rest);
        container.deleteItem("before", new PartitionKey("k1"), null);
        container.deleteItem("after", new PartitionKey("k2"), null);
    }

    @ParameterizedTest
    @MethodSource("containers")
    void aDamagedTokenIsRefused(CosmosContainer container) {
        Queries.refused(400, () -> container
                .queryItems("SELECT * FROM c", Queries.options(), JsonNode.class)
                .iterableByPage("no token", 3)
                .iterator()
                .next());
    }

    @Test
    void aPageIsAtMostFourMegabytes() {
        for (int throughput : new int[] {400, 30000}) {
            CosmosContainer container = Account.container(
                    database, new CosmosContainerProperties(Account.unique("big"), "/pk"), throughput);
            String text = "ä".repeat(500_000);
            for (int n = 0; n < 9; n++) {
                ObjectNode item = Account.json("{'id':'b" + n + "','pk':'p','n':" + n + "}");
                container.createItem(item.put("text", text));
            }
            for (String sql : Arrays.asList("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n")) {
                List<FeedResponse<JsonNode>> pages = Queries.resumed(container, sql, Queries.options(), 100);
                assertTrue(pages.size() >= 3 || sql.contains("ORDER"), sql + ": " + pages.size());
                List<JsonNode> rows = Queries.rows(pages);
                assertEquals(9, rows.stream().map(row -> row.get("id")).distinct().count());
                rows.forEach(row -> assertEquals(text, row.get("text").asText()));
            }
            assertEquals(9, Queries.all(container, "SELECT VALUE LENGTH(c.text) FROM c").size());
            Queries.assertRows("[500000]", Queries.all(container, "SELECT VALUE MAX(LENGTH(c.text)) FROM c"));
        }
    }

    @Test
    void tokensOutliveTheServer(@TempDir Path directory) throws Exception {
        Map<String, List<JsonNode>> read = new LinkedHashMap<>();
        Map<String, String> tokens = new LinkedHashMap<>();
        Map<String, List<String>> whole = new LinkedHashMap<>();
        try (Server server = new Server(directory);
                CosmosClient client = Account.builder().endpoint(server.endpoint).buildClient()) {
            client.createDatabase("db");
            for (int throughput : new int[] {400, 30000}) {
                CosmosContainer container =
                        Queries.loaded(client.getDatabase("db"), properties("c" + throughput), throughput);
                for (String sql : resumable().keySet()) {
                    String name = container.getId() + ":" + sql;
                    whole.put(name, Queries.texts(Queries.all(container, sql)));
                    FeedResponse<JsonNode> page = container.queryItems(sql, Queries.options(), JsonNode.class)
                            .iterableByPage(5).iterator().next();
                    assertNotNull(page.getContinuationToken(), sql);
                    read.put(name, new ArrayList<>(page.getResults()));
                    tokens.put(name, page.getContinuationToken());
                }
            }
        }
        try (Server server = new Server(directory);
                CosmosClient client = Account.builder().endpoint(server.endpoint).buildClient()) {
            tokens.forEach((name, token) -> {
                String[] parts = name.split(":", 2);
                client.getDatabase("db").getContainer(parts[0])
                        .queryItems(parts[1], Queries.options(), JsonNode.class)
                        .iterableByPage(token, 5)
                        .forEach(page -> read.get(name).addAll(page.getResults()));
                assertEquals(whole.get(name), Queries.texts(read.get(name)), name);
            });
        }
    }
}
