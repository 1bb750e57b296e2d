package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Parts of a container: logical partitions, prefixes of keys, feed ranges, lists of items. */
class QueryScopeTest {
    private static CosmosDatabase database;
    private static CosmosContainer one;
    private static CosmosContainer three;
    private static CosmosContainer tenants;

    @BeforeAll
    static void load() {
        database = Account.database();
        one = Queries.loaded(database, new CosmosContainerProperties("one", "/pk"), 400);
        three = Queries.loaded(database, new CosmosContainerProperties("three", "/pk"), 30000);
        PartitionKeyDefinition key = new PartitionKeyDefinition()
                .setKind(PartitionKind.MULTI_HASH)
                .setVersion(PartitionKeyDefinitionVersion.V2)
                .setPaths(Arrays.asList("/tenant", "/user", "/session"));
        tenants = Account.container(database, new CosmosContainerProperties("tenants", key), 30000);
        for (int n = 0; n < 48; n++) {
            tenants.createItem(Account.json(String.format(
                    "{'id':'i%02d','tenant':'t%d','user':%d,'session':'s%d','n':%d}", n, n % 4, n / 4 % 3, n / 12, n)));
        }
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    static Stream<CosmosContainer> containers() {
        return Stream.of(one, three);
    }

    private static List<JsonNode> in(CosmosContainer container, PartitionKey key, String sql) {
        return Queries.all(container, sql, Queries.options().setPartitionKey(key));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void aLogicalPartition(CosmosContainer container) {
        PartitionKey key = new PartitionKey("k3");
        Queries.assertSameRows(
                Queries.things(thing -> thing.get("pk").asText().equals("k3")),
                Queries.own(in(container, key, "SELECT * FROM c")));
        Queries.assertRows("[57,48,39,30,21,12,3]", in(container, key, "SELECT VALUE c.n FROM c ORDER BY c.n DESC"));
        Queries.assertRows("[7]", in(container, key, "SELECT VALUE COUNT(1) FROM c"));
        Queries.assertRows("[30]", in(container, key, "SELECT VALUE AVG(c.n) FROM c"));
        Queries.assertSameRows("[{'even':true,'k':3},{'even':false,'k':4}]", in(
                container, key, "SELECT c.even, COUNT(1) AS k FROM c GROUP BY c.even"));
        Queries.assertRows("['red']", in(container, key, "SELECT DISTINCT VALUE c.color FROM c"));
        Queries.assertRows("[3,12]", in(container, key, "SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n"));
        Queries.assertRows("[12,21]", in(container, key, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 2"));
        Queries.assertRows("[]", in(container, key, "SELECT * FROM c WHERE c.pk = 'k4'"));
        Queries.assertRows("[0]", in(container, new PartitionKey("none"), "SELECT VALUE COUNT(1) FROM c"));
        Queries.assertRows("[]", in(container, new PartitionKey("none"), "SELECT * FROM c"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void everyItemOfAPartition(CosmosContainer container) {
        List<JsonNode> rows = new ArrayList<>();
        container.readAllItems(new PartitionKey("k5"), JsonNode.class).iterableByPage(2).forEach(page -> {
            assertTrue(page.getResults().size() <= 2);
            rows.addAll(page.getResults());
        });
        Queries.assertSameRows(Queries.things(thing -> thing.get("pk").asText().equals("k5")), Queries.own(rows));
    }

    @Test
    void keysOfEveryType() {
        for (int throughput : new int[] {400, 30000}) {
            CosmosContainer container = Account.container(
                    database, new CosmosContainerProperties(Account.unique("keys"), "/pk"), throughput);
            List<String> keys = Arrays.asList("'1'", "1", "1.5", "true", "false", "null", "'größe 🦀'", "''");
            for (String key : keys) {
                container.createItem(Account.json("{'id':'a','pk':" + key + "}"));
            }
            container.createItem(Account.json("{'id':'a'}"));
            List<PartitionKey> values = Arrays.asList(
                    new PartitionKey("1"), new PartitionKey(1), new PartitionKey(1.5),
                    new PartitionKey(true), new PartitionKey(false), new PartitionKey(null),
                    new PartitionKey("größe 🦀"), new PartitionKey(""));
            for (int n = 0; n < keys.size(); n++) {
                Queries.assertRows("[" + keys.get(n) + "]", in(container, values.get(n), "SELECT VALUE c.pk FROM c"));
                Queries.assertRows("[" + keys.get(n) + "]", Queries.all(
                        container, "SELECT VALUE c.pk FROM c WHERE c.pk = " + keys.get(n).replace("\"", "'")));
            }
            Queries.assertRows("['a']", Queries.all(container, "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.pk)"));
            Queries.assertRows("[9]", Queries.all(container, "SELECT VALUE COUNT(1) FROM c"));
        }
    }

    @Test
    void feedRangesAreTheWhole() {
        List<FeedRange> ranges = three.getFeedRanges();
        assertEquals(3, ranges.size());
        for (String sql : Arrays.asList("SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n")) {
            List<JsonNode> rows = new ArrayList<>();
            for (FeedRange range : ranges) {
                List<JsonNode> part = Queries.all(three, sql, Queries.options().setFeedRange(range));
                assertTrue(part.size() > 0 && part.size() < 60);
                List<FeedResponse<JsonNode>> pages =
                        Queries.resumed(three, sql, Queries.options().setFeedRange(range), 4);
                assertEquals(Queries.texts(part), Queries.texts(Queries.rows(pages)));
                rows.addAll(part);
            }
            assertEquals(60, rows.stream().distinct().count());
            assertEquals(60, rows.size());
        }
        int count = 0;
        for (FeedRange range : ranges) {
            count += Queries.all(three, "SELECT VALUE COUNT(1) FROM c", Queries.options().setFeedRange(range))
                    .get(0).asInt();
        }
        assertEquals(60, count);
    }

    @ParameterizedTest
    @MethodSource("containers")
    void aFeedRangeOfOneKeyOrOfAll(CosmosContainer container) {
        FeedRange key = FeedRange.forLogicalPartition(new PartitionKey("k3"));
        Queries.assertRows("[3,12,21,30,39,48,57]", Queries.all(
                container, "SELECT VALUE c.n FROM c ORDER BY c.n", Queries.options().setFeedRange(key)));
        Queries.assertRows("[60]", Queries.all(
                container,
                "SELECT VALUE COUNT(1) FROM c",
                Queries.options().setFeedRange(FeedRange.forFullRange())));
    }

    private static FeedRange range(String min, String max) {
        String json = "{\"Range\":{\"min\":\"" + min + "\",\"max\":\"" + max
                + "\",\"isMinInclusive\":true,\"isMaxInclusive\":false}}";
        return FeedRange.fromString(Base64.getEncoder().encodeToString(json.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void partsOfPartitionsAreRangesToo() {
        PartitionKeyDefinition key = new PartitionKeyDefinition()
                .setVersion(PartitionKeyDefinitionVersion.V2)
                .setPaths(Collections.singletonList("/pk"));
        CosmosContainer whole = Queries.loaded(database, new CosmosContainerProperties("whole", key), 400);
        CosmosContainer parts = Queries.loaded(database, new CosmosContainerProperties("parts", key), 30000);
        // Hashes in hexadecimal digits. The client cannot ask for a range over several partitions: so
        // their bounds are among these, each partition is cut once.
        TreeSet<String> bounds = new TreeSet<>(Arrays.asList("", "0A", "20", "30", "FF"));
        for (FeedRange range : parts.getFeedRanges()) {
            String json = new String(Base64.getDecoder().decode(range.toString()), StandardCharsets.UTF_8);
            bounds.add(Account.json(json).get("Range").get("min").asText());
        }
        assertEquals(7, bounds.size());
        List<String> found = new ArrayList<>();
        String min = bounds.pollFirst();
        for (String max : bounds) {
            FeedRange range = range(min, max);
            String sql = "SELECT VALUE c.n FROM c";
            List<String> one = Queries.sorted(Queries.all(whole, sql, Queries.options().setFeedRange(range)));
            assertEquals(one, Queries.sorted(Queries.all(parts, sql, Queries.options().setFeedRange(range))));
            found.addAll(one);
            min = max;
        }
        assertEquals(60, found.size());
        assertEquals(60, found.stream().distinct().count());
    }

    @Test
    void prefixesOfHierarchicalKeys() {
        PartitionKey tenant = new PartitionKeyBuilder().add("t1").build();
        Queries.assertRows("[1,5,9,13,17,21,25,29,33,37,41,45]", in(
                tenants, tenant, "SELECT VALUE c.n FROM c ORDER BY c.n"));
        Queries.assertRows("[12]", in(tenants, tenant, "SELECT VALUE COUNT(1) FROM c"));
        Queries.assertSameRows("[{'user':0,'k':4},{'user':1,'k':4},{'user':2,'k':4}]", in(
                tenants, tenant, "SELECT c.user, COUNT(1) AS k FROM c GROUP BY c.user"));
        PartitionKey user = new PartitionKeyBuilder().add("t1").add(2).build();
        Queries.assertSameRows("[9,21,33,45]", in(tenants, user, "SELECT VALUE c.n FROM c"));
        List<FeedResponse<JsonNode>> pages = Queries.resumed(
                tenants, "SELECT VALUE c.n FROM c", Queries.options().setPartitionKey(tenant), 5);
        assertEquals(12, Queries.rows(pages).stream().distinct().count());
        assertEquals(12, Queries.rows(pages).size());
        PartitionKey session = new PartitionKeyBuilder().add("t1").add(2).add("s3").build();
        Queries.assertRows("['i45']", in(tenants, session, "SELECT VALUE c.id FROM c"));
        Queries.assertRows("[]", in(tenants, new PartitionKeyBuilder().add("t9").build(), "SELECT * FROM c"));
    }

    @Test
    void hierarchicalKeysInTheFilter() {
        Queries.assertSameRows("[9,21,33,45]", Queries.all(
                tenants, "SELECT VALUE c.n FROM c WHERE c.tenant = 't1' AND c.user = 2"));
        Queries.assertRows("[45]", Queries.all(
                tenants, "SELECT VALUE c.n FROM c WHERE c.tenant = 't1' AND c.user = 2 AND c.session = 's3'"));
        Queries.assertRows("[16]", Queries.all(tenants, "SELECT VALUE COUNT(1) FROM c WHERE c.user = 2"));
        Queries.assertRows("[24]", Queries.all(
                tenants, "SELECT VALUE COUNT(1) FROM c WHERE c.tenant IN ('t1', 't2')"));
        Queries.assertRows("[47,46,45]", Queries.all(tenants, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void readMany(CosmosContainer container) {
        List<CosmosItemIdentity> wanted = new ArrayList<>();
        for (int n = 0; n < 60; n += 7) {
            wanted.add(new CosmosItemIdentity(new PartitionKey("k" + n % 9), String.format("d%02d", n)));
        }
        wanted.add(new CosmosItemIdentity(new PartitionKey("k1"), "d00"));
        wanted.add(new CosmosItemIdentity(new PartitionKey("k1"), "none"));
        FeedResponse<ObjectNode> found = container.readMany(wanted, ObjectNode.class);
        assertTrue(found.getRequestCharge() > 0);
        Queries.assertSameRows(
                Queries.things(thing -> thing.get("n").asInt() % 7 == 0),
                found.getResults().stream().map(Account::own).collect(Collectors.toList()));
        assertEquals(1, container.readMany(wanted.subList(0, 1), ObjectNode.class).getResults().size());
        assertEquals(0, container.readMany(Collections.emptyList(), ObjectNode.class).getResults().size());
        // Two of one partition, which the client asks for by id alone.
        List<CosmosItemIdentity> two = Arrays.asList(
                new CosmosItemIdentity(new PartitionKey("k3"), "d12"),
                new CosmosItemIdentity(new PartitionKey("k3"), "d21"));
        assertEquals(2, container.readMany(two, ObjectNode.class).getResults().size());
    }

    @Test
    void readManyWhereTheIdIsTheKey() {
        CosmosContainer container = Account.container(database, new CosmosContainerProperties("ids", "/id"), 30000);
        List<CosmosItemIdentity> wanted = new ArrayList<>();
        for (int n = 0; n < 12; n++) {
            String id = "größe 'n' \"" + n;
            container.createItem(Account.json("{'n':" + n + "}").put("id", id));
            wanted.add(new CosmosItemIdentity(new PartitionKey(id), id));
        }
        assertEquals(12, container.readMany(wanted, ObjectNode.class).getResults().size());
    }

    @Test
    void readManyOfHierarchicalKeys() {
        List<CosmosItemIdentity> wanted = new ArrayList<>();
        for (int n = 0; n < 48; n += 5) {
            PartitionKey key = new PartitionKeyBuilder().add("t" + n % 4).add(n / 4 % 3).add("s" + n / 12).build();
            wanted.add(new CosmosItemIdentity(key, String.format("i%02d", n)));
        }
        FeedResponse<ObjectNode> found = tenants.readMany(wanted, ObjectNode.class);
        assertEquals(10, found.getResults().size());
        found.getResults().forEach(item -> assertEquals(0, item.get("n").asInt() % 5));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void readManyByKeys(CosmosContainer container) {
        List<PartitionKey> keys =
                Arrays.asList(new PartitionKey("k3"), new PartitionKey("k7"), new PartitionKey("none"));
        List<JsonNode> found = new ArrayList<>();
        container.readManyByPartitionKeys(keys, JsonNode.class).forEach(found::add);
        Queries.assertSameRows(
                Queries.things(thing -> thing.get("pk").asText().matches("k[37]")), Queries.own(found));
        List<JsonNode> filtered = new ArrayList<>();
        SqlQuerySpec query = new SqlQuerySpec("SELECT c.n FROM c WHERE c.n > @low", new SqlParameter("@low", 30));
        container.readManyByPartitionKeys(keys, query, JsonNode.class).forEach(filtered::add);
        Queries.assertSameRows("[{'n':39},{'n':48},{'n':57},{'n':34},{'n':43},{'n':52}]", filtered);
    }
}
