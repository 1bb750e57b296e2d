package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.ComputedProperty;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.SpatialSpec;
import com.azure.cosmos.models.SpatialType;
import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What depends on the indexing policy, and what the client is told about the index. */
class QueryIndexTest {
    private static CosmosDatabase database;

    @BeforeAll
    static void createDatabase() {
        database = Account.database();
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    private static CompositePath path(String path, boolean ascending) {
        return new CompositePath()
                .setPath(path)
                .setOrder(ascending ? CompositePathSortOrder.ASCENDING : CompositePathSortOrder.DESCENDING);
    }

    private static IndexingPolicy policy() {
        return new IndexingPolicy()
                .setIncludedPaths(Collections.singletonList(new IncludedPath("/*")));
    }

    private static CosmosContainerProperties properties(IndexingPolicy policy) {
        return new CosmosContainerProperties(Account.unique("c"), "/pk").setIndexingPolicy(policy);
    }

    private static String refusal(CosmosContainer container, String sql) {
        return Queries.refused(400, () -> Queries.all(container, sql)).getMessage();
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void compositeIndexes(int throughput) {
        IndexingPolicy policy = policy().setCompositeIndexes(Arrays.asList(
                Arrays.asList(path("/color", true), path("/n", false)),
                Arrays.asList(path("/even", true), path("/color", true), path("/n", true))));
        CosmosContainer container = Queries.loaded(database, properties(policy), throughput);
        List<Integer> expected = Queries.things(thing -> true).stream()
                .sorted((a, b) -> {
                    int color = a.get("color").asText().compareTo(b.get("color").asText());
                    return color != 0 ? color : b.get("n").asInt() - a.get("n").asInt();
                })
                .map(thing -> thing.get("n").asInt())
                .collect(Collectors.toList());
        assertEquals(expected, numbers(container, "SELECT VALUE c.n FROM c ORDER BY c.color, c.n DESC"));
        Collections.reverse(expected);
        assertEquals(expected, numbers(container, "SELECT VALUE c.n FROM c ORDER BY c.color DESC, c.n ASC"));
        assertEquals(
                Arrays.asList(59, 53, 47),
                numbers(container, "SELECT TOP 3 VALUE c.n FROM c WHERE NOT c.even ORDER BY c.color, c.n DESC"));
        assertEquals(
                Arrays.asList(5, 11, 17, 23),
                numbers(container, "SELECT VALUE c.n FROM c ORDER BY c.even, c.color, c.n OFFSET 0 LIMIT 4"));

        for (String order : Arrays.asList("c.color, c.n", "c.n DESC, c.color", "c.even, c.color", "c.color, c.price")) {
            String message = refusal(container, "SELECT * FROM c ORDER BY " + order);
            assertTrue(
                    message.contains("The order by query does not have a corresponding composite index"
                            + " that it can be served from."),
                    message);
        }
    }

    private static List<Integer> numbers(CosmosContainer container, String sql) {
        return Queries.all(container, sql).stream().map(JsonNode::asInt).collect(Collectors.toList());
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void excludedPaths(int throughput) {
        IndexingPolicy policy =
                policy().setExcludedPaths(Arrays.asList(new ExcludedPath("/price/?"), new ExcludedPath("/nested/*")));
        CosmosContainer container = Queries.loaded(database, properties(policy), throughput);
        for (String order : Arrays.asList("c.price", "c.nested.deep DESC")) {
            String message = refusal(container, "SELECT * FROM c ORDER BY " + order);
            assertTrue(
                    message.contains("The index path corresponding to the specified order-by item is excluded."),
                    message);
        }
        // Filters go on without the index.
        Queries.assertSameRows("[10,11,12]", Queries.all(
                container, "SELECT VALUE c.n FROM c WHERE c.price BETWEEN 15 AND 18"));
        Queries.assertRows("[12]", Queries.all(container, "SELECT VALUE COUNT(1) FROM c WHERE c.nested.deep = 2"));
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void mixedTypesHaveAnOrder(int throughput) {
        IndexingPolicy policy = new IndexingPolicy()
                .setIncludedPaths(Arrays.asList(new IncludedPath("/*"), new IncludedPath("/v/?")));
        CosmosContainer container = Account.container(database, properties(policy), throughput);
        List<String> values = Arrays.asList(
                "null", "false", "true", "-1e300", "-2.5", "0", "7", "1e20",
                "''", "'Z'", "'a'", "'größe'", "'数据'", "'🦀'");
        for (int n = 0; n < values.size(); n++) {
            container.createItem(
                    Account.json("{'id':'i" + n + "','pk':'p" + n + "','v':" + values.get(n) + "}"));
        }
        container.createItem(Account.json("{'id':'missing','pk':'x'}"));
        // The client cannot merge rows that are null, so they are members here.
        List<JsonNode> ascending = Queries.json(
                values.stream().map(value -> "{'v':" + value + "}").collect(Collectors.joining(",", "[", "]")));
        String sql = "SELECT c.v FROM c WHERE IS_DEFINED(c.v) ORDER BY c.v";
        Queries.assertRows(ascending, Queries.all(container, sql));
        Collections.reverse(ascending);
        Queries.assertRows(ascending, Queries.all(container, sql + " DESC"));
        // The path is listed: documents without it come too, before all others.
        List<JsonNode> ids = Queries.all(container, "SELECT VALUE c.id FROM c ORDER BY c.v");
        assertEquals(values.size() + 1, ids.size());
        assertEquals("missing", ids.get(0).asText());
        ids = Queries.all(container, "SELECT VALUE c.id FROM c ORDER BY c.v DESC");
        assertEquals("missing", ids.get(values.size()).asText());
        // Tokens hold values of any type.
        for (String order : Arrays.asList("", " DESC")) {
            String every = "SELECT c.id, c.v FROM c ORDER BY c.v" + order;
            assertEquals(
                    Queries.texts(Queries.all(container, every)),
                    Queries.texts(Queries.rows(Queries.resumed(container, every, Queries.options(), 1))));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void computedProperties(int throughput) {
        CosmosContainerProperties properties = properties(policy()).setComputedProperties(Arrays.asList(
                new ComputedProperty("upper", "SELECT VALUE UPPER(c.color) FROM c"),
                new ComputedProperty("third", "SELECT VALUE c.n % 3 FROM c")));
        CosmosContainer container = Queries.loaded(database, properties, throughput);
        assertEquals(2, container.read().getProperties().getComputedProperties().size());
        Queries.assertRows("[20]", Queries.all(container, "SELECT VALUE COUNT(1) FROM c WHERE c.upper = 'RED'"));
        Queries.assertSameRows(
                "[{'upper':'RED','third':0},{'upper':'GREEN','third':1},{'upper':'BLUE','third':2}]",
                Queries.all(container, "SELECT DISTINCT c.upper, c.third FROM c"));
        Queries.assertSameRows(
                "[{'upper':'RED','k':20},{'upper':'GREEN','k':20},{'upper':'BLUE','k':20}]",
                Queries.all(container, "SELECT c.upper, COUNT(1) AS k FROM c GROUP BY c.upper"));
        List<JsonNode> rows = Queries.all(container, "SELECT VALUE c.upper FROM c ORDER BY c.upper DESC");
        assertEquals(60, rows.size());
        assertEquals("RED", rows.get(0).asText());
        assertEquals("BLUE", rows.get(59).asText());
        // They are no part of the document.
        assertTrue(Queries.all(container, "SELECT TOP 1 * FROM c").stream().noneMatch(row -> row.has("upper")));
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void spatial(int throughput) {
        IndexingPolicy policy = policy().setSpatialIndexes(Collections.singletonList(new SpatialSpec()
                .setPath("/place/*")
                .setSpatialTypes(Arrays.asList(SpatialType.POINT, SpatialType.POLYGON))));
        CosmosContainer container = Account.container(database, properties(policy), throughput);
        for (int n = 0; n < 20; n++) {
            container.createItem(Account.json(String.format(
                    "{'id':'p%d','pk':'k%d','place':{'type':'Point','coordinates':[%d,50]}}", n, n, n)));
        }
        Queries.assertSameRows("['p4','p5','p6']", Queries.all(
                container,
                "SELECT VALUE c.id FROM c"
                        + " WHERE ST_DISTANCE(c.place, {'type':'Point','coordinates':[5, 50]}) < 100000"));
        Queries.assertSameRows("['p9','p10','p11']", Queries.all(
                container,
                "SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.place, {'type':'Polygon','coordinates':"
                        + "[[[8.5,49],[11.5,49],[11.5,51],[8.5,51],[8.5,49]]]})"));
        Queries.assertRows("[true]", Queries.all(
                container, "SELECT VALUE ST_ISVALID(c.place) FROM c WHERE c.id = 'p0'"));
    }

    private static FeedResponse<JsonNode> page(
            CosmosContainer container, String sql, CosmosQueryRequestOptions options) {
        return Queries.pages(container, sql, options, 100).get(0);
    }

    @Test
    void queryMetrics() {
        CosmosContainer container = Queries.loaded(database, properties(policy()), 400);
        String sql = "SELECT * FROM c WHERE c.n < 10";
        String metrics = page(container, sql, Queries.options().setQueryMetricsEnabled(true))
                .getResponseHeaders().get("x-ms-documentdb-query-metrics");
        assertNotNull(metrics);
        for (String name : Arrays.asList(
                "totalExecutionTimeInMs", "queryCompileTimeInMs", "queryLogicalPlanBuildTimeInMs",
                "queryPhysicalPlanBuildTimeInMs", "queryOptimizationTimeInMs", "VMExecutionTimeInMs",
                "indexLookupTimeInMs", "documentLoadTimeInMs", "systemFunctionExecuteTimeInMs",
                "userFunctionExecuteTimeInMs", "writeOutputTimeInMs", "indexUtilizationRatio",
                "retrievedDocumentSize", "outputDocumentSize")) {
            assertTrue(metrics.matches("(.*;)?" + name + "=[0-9.]+(;.*)?"), name + " in " + metrics);
        }
        assertTrue(metrics.matches("(.*;)?retrievedDocumentCount=10(;.*)?"), metrics);
        assertTrue(metrics.matches("(.*;)?outputDocumentCount=10(;.*)?"), metrics);
        // No index knows both: every document is loaded.
        String both = "SELECT * FROM c WHERE c.n + c.price < 25";
        String scanned = page(container, both, Queries.options().setQueryMetricsEnabled(true))
                .getResponseHeaders().get("x-ms-documentdb-query-metrics");
        assertTrue(scanned.matches("(.*;)?retrievedDocumentCount=60(;.*)?"), scanned);
        assertTrue(scanned.matches("(.*;)?outputDocumentCount=10(;.*)?"), scanned);
        assertNull(page(container, sql, Queries.options().setQueryMetricsEnabled(false))
                .getResponseHeaders().get("x-ms-documentdb-query-metrics"));
    }

    @Test
    void indexMetrics() {
        IndexingPolicy policy = policy().setCompositeIndexes(
                Collections.singletonList(Arrays.asList(path("/color", true), path("/n", false))));
        CosmosContainer container = Queries.loaded(database, properties(policy), 400);
        JsonNode metrics = indexMetrics(container, "SELECT * FROM c WHERE c.pk = 'k1' AND c.price > 5");
        assertEquals(
                Arrays.asList("/pk/?", "/price/?"),
                metrics.get("UtilizedSingleIndexes").findValuesAsText("IndexSpec").stream()
                        .sorted()
                        .collect(Collectors.toList()));
        assertEquals("High", metrics.get("UtilizedSingleIndexes").get(0).get("IndexImpactScore").asText());
        assertEquals(
                Queries.texts(Queries.json("[['/pk ASC','/price ASC']]")),
                Queries.texts(metrics.get("PotentialCompositeIndexes").findValues("IndexSpecs")));
        metrics = indexMetrics(container, "SELECT * FROM c WHERE c.color = 'red' AND c.n > 5");
        assertEquals(
                Queries.texts(Queries.json("[['/color ASC','/n DESC']]")),
                Queries.texts(metrics.get("UtilizedCompositeIndexes").findValues("IndexSpecs")));
        assertNull(page(container, "SELECT * FROM c", Queries.options())
                .getResponseHeaders().get("x-ms-cosmos-index-utilization"));
    }

    private static JsonNode indexMetrics(CosmosContainer container, String sql) {
        String header = page(container, sql, Queries.options().setIndexMetricsEnabled(true))
                .getResponseHeaders().get("x-ms-cosmos-index-utilization");
        assertNotNull(header);
        return Account.json(new String(Base64.getDecoder().decode(header), StandardCharsets.UTF_8));
    }
}
