package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every shape of query, over one physical partition and over three. */
class QueryTest {
    private static CosmosDatabase database;
    private static CosmosContainer one;
    private static CosmosContainer three;

    @BeforeAll
    static void load() {
        database = Account.database();
        one = Queries.loaded(database, new CosmosContainerProperties("one", "/pk"), 400);
        three = Queries.loaded(database, new CosmosContainerProperties("three", "/pk"), 30000);
        assertEquals(1, one.getFeedRanges().size());
        assertEquals(3, three.getFeedRanges().size());
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    static Stream<CosmosContainer> containers() {
        return Stream.of(one, three);
    }

    private static List<JsonNode> ask(CosmosContainer container, String sql, Object... parameters) {
        List<SqlParameter> bound = new ArrayList<>();
        for (int n = 0; n < parameters.length; n++) {
            bound.add(new SqlParameter("@p" + n, parameters[n]));
        }
        return Queries.all(container, new SqlQuerySpec(sql, bound), Queries.options());
    }

    private static List<JsonNode> field(List<ObjectNode> things, String name) {
        return things.stream().map(thing -> thing.get(name)).collect(Collectors.toList());
    }

    private static int n(JsonNode thing) {
        return thing.get("n").asInt();
    }

    @ParameterizedTest
    @MethodSource("containers")
    void filters(CosmosContainer container) {
        Queries.assertSameRows(
                Queries.things(thing -> true), Queries.own(ask(container, "SELECT * FROM c")));
        Queries.assertSameRows(
                Queries.things(thing -> n(thing) >= 10 && n(thing) < 20),
                Queries.own(ask(container, "SELECT * FROM c WHERE c.n >= 10 AND c.n < 20")));
        Queries.assertSameRows(
                Queries.things(thing -> thing.get("even").asBoolean() && thing.get("nested").get("deep").asInt() == 3),
                Queries.own(ask(container, "SELECT VALUE c FROM c WHERE c.even AND c.nested.deep = 3")));
        Queries.assertSameRows(
                field(Queries.things(thing -> n(thing) % 4 != 0), "id"),
                ask(container, "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.quarter)"));
        Queries.assertSameRows(
                field(Queries.things(thing -> n(thing) >= 5 && n(thing) <= 7 || n(thing) == 50), "id"),
                ask(container, "SELECT VALUE c.id FROM c WHERE c.n BETWEEN 5 AND 7 OR c.n IN (50, 1000)"));
        Queries.assertSameRows(
                field(Queries.things(thing -> thing.get("id").asText().matches("d[12]5")), "id"),
                ask(container, "SELECT VALUE r.id FROM root r WHERE r.id LIKE 'd[12]5'"));
        Queries.assertRows("[]", ask(container, "SELECT * FROM c WHERE c.n > 1000"));
        Queries.assertRows("[]", ask(container, "SELECT * FROM c WHERE false"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void theKeyInTheFilterNarrowsTheQuery(CosmosContainer container) {
        Queries.assertSameRows(
                Queries.things(thing -> n(thing) % 9 == 3),
                Queries.own(ask(container, "SELECT * FROM c WHERE c.pk = 'k3'")));
        Queries.assertSameRows(
                field(Queries.things(thing -> n(thing) % 9 == 3 || n(thing) % 9 == 7 || n(thing) % 9 == 0), "n"),
                ask(container, "SELECT VALUE c.n FROM c WHERE c.pk IN ('k3', 'k7', @p0)", "k0"));
        Queries.assertRows("[3, 12]", ask(
                container, "SELECT VALUE c.n FROM c WHERE c.pk = @p0 AND c.n < 20 ORDER BY c.n", "k3"));
        Queries.assertRows("[7]", ask(container, "SELECT VALUE COUNT(1) FROM c WHERE c['pk'] = 'k3'"));
        Queries.assertRows("[12, 21]", ask(
                container, "SELECT VALUE c.n FROM c WHERE c.pk = 'k3' ORDER BY c.n OFFSET 1 LIMIT 2"));
        Queries.assertRows("[]", ask(container, "SELECT * FROM c WHERE c.pk = 'k3' AND c.pk = 'k4'"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void projections(CosmosContainer container) {
        Queries.assertRows("[{'n':7,'d':2,'$1':14,'deep':2}]", ask(
                container, "SELECT c.n, c.nested.deep AS d, c.n * 2, c.nested.deep FROM c WHERE c.n = 7"));
        Queries.assertRows("[{'a':[7,'k7'],'o':{'x':true}}]", ask(
                container,
                "SELECT [c.n, c.missing, c.pk] AS a, {'x': true, 'y': c.missing} AS o FROM c WHERE c.n = 7"));
        Queries.assertRows("[{}]", ask(container, "SELECT c.missing FROM c WHERE c.n = 7"));
        Queries.assertRows("[]", ask(container, "SELECT VALUE c.missing FROM c WHERE c.n = 7"));
        Queries.assertRows("[null]", ask(container, "SELECT VALUE null FROM c WHERE c.n = 7"));
        Queries.assertRows("[7.5]", ask(container, "SELECT VALUE 15 / 2"));
        Queries.assertRows("['K7!']", ask(container, "SELECT VALUE CONCAT(UPPER(c.pk), '!') FROM c WHERE c.n = 7"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void orderBy(CosmosContainer container) {
        List<ObjectNode> things = Queries.things(thing -> true);
        Queries.assertRows(things, Queries.own(ask(container, "SELECT * FROM c ORDER BY c.n")));
        Collections.reverse(things);
        Queries.assertRows(things, Queries.own(ask(container, "SELECT * FROM c ORDER BY c.n DESC")));
        Queries.assertRows(field(things, "price"), ask(container, "SELECT VALUE c.price FROM c ORDER BY c.id DESC"));
        Queries.assertRows("[{'n':40},{'n':20},{'n':0}]", ask(
                container, "SELECT c.n FROM c WHERE c.even AND c.n % 5 = 0 AND c.n % 4 = 0 ORDER BY c.price DESC"));

        // Equal sort values: every row once, and in order.
        List<JsonNode> rows = ask(container, "SELECT c.color, c.n FROM c ORDER BY c.color");
        List<String> colors = rows.stream().map(row -> row.get("color").asText()).collect(Collectors.toList());
        assertEquals(colors.stream().sorted().collect(Collectors.toList()), colors);
        assertEquals(Queries.THINGS, rows.stream().map(QueryTest::n).distinct().count());

        // Things without a value come first, but have nothing to be selected.
        Queries.assertRows("[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]", ask(
                container, "SELECT VALUE c.quarter FROM c ORDER BY c.quarter"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void aggregates(CosmosContainer container) {
        Queries.assertRows("[60]", ask(container, "SELECT VALUE COUNT(1) FROM c"));
        Queries.assertRows("[15]", ask(container, "SELECT VALUE COUNT(c.quarter) FROM c"));
        Queries.assertRows("[1770]", ask(container, "SELECT VALUE SUM(c.n) FROM c"));
        Queries.assertRows("[44.25]", ask(container, "SELECT VALUE AVG(c.price) FROM c"));
        Queries.assertRows("[0]", ask(container, "SELECT VALUE MIN(c.n) FROM c"));
        Queries.assertRows("[88.5]", ask(container, "SELECT VALUE MAX(c.price) FROM c"));
        Queries.assertRows("['blue']", ask(container, "SELECT VALUE MIN(c.color) FROM c"));
        Queries.assertRows("['red']", ask(container, "SELECT VALUE MAX(c.color) FROM c"));
        Queries.assertRows("[90]", ask(container, "SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags"));
        Queries.assertRows("[10]", ask(container, "SELECT VALUE COUNT(1) FROM c WHERE c.n < @p0", 10));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void aggregatesOfNothing(CosmosContainer container) {
        Queries.assertRows("[0]", ask(container, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 1000"));
        Queries.assertRows("[0]", ask(container, "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 1000"));
        // Undefined: the client, which adds up what the partitions say, shows it as null.
        Queries.assertRows("[null]", ask(container, "SELECT VALUE AVG(c.n) FROM c WHERE c.n > 1000"));
        Queries.assertRows("[null]", ask(container, "SELECT VALUE MIN(c.missing) FROM c"));
        Queries.assertRows("[null]", ask(container, "SELECT VALUE MAX(c.missing) FROM c"));
        Queries.assertRows("[null]", ask(container, "SELECT VALUE SUM(c.color) FROM c"));
        // Only one partition has such a document: the others add nothing.
        Queries.assertRows("[14]", ask(container, "SELECT VALUE MAX(c.quarter) FROM c WHERE c.n > 55"));
        Queries.assertRows("[14]", ask(container, "SELECT VALUE AVG(c.quarter) FROM c WHERE c.n > 55"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void severalAggregatesAtOnce(CosmosContainer container) {
        Queries.assertRows("[{'k':60,'s':1770,'a':29.5,'lo':'blue','hi':88.5,'$1':15}]", ask(
                container,
                "SELECT COUNT(1) AS k, SUM(c.n) AS s, AVG(c.n) AS a, MIN(c.color) AS lo, MAX(c.price) AS hi,"
                        + " COUNT(c.quarter) FROM c"));
        Queries.assertRows("[{'$1':60}]", ask(container, "SELECT COUNT(1) FROM c"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void groupBy(CosmosContainer container) {
        Queries.assertSameRows(
                "[{'color':'red','k':20,'s':570,'a':28.5,'lo':0,'hi':57},"
                        + "{'color':'green','k':20,'s':590,'a':29.5,'lo':1,'hi':58},"
                        + "{'color':'blue','k':20,'s':610,'a':30.5,'lo':2,'hi':59}]",
                ask(container, "SELECT c.color, COUNT(1) AS k, SUM(c.n) AS s, AVG(c.n) AS a, MIN(c.n) AS lo,"
                        + " MAX(c.n) AS hi FROM c GROUP BY c.color"));
        Map<String, Long> pairs = Queries.things(thing -> true).stream().collect(Collectors.groupingBy(
                thing -> thing.get("color").asText() + n(thing) % 2, Collectors.counting()));
        List<JsonNode> rows = ask(
                container, "SELECT c.color, c.even, COUNT(1) AS k FROM c GROUP BY c.color, c.even");
        assertEquals(pairs, rows.stream().collect(Collectors.toMap(
                row -> row.get("color").asText() + (row.get("even").asBoolean() ? 0 : 1),
                row -> row.get("k").asLong())));
        // Documents without the key are a group of their own.
        rows = ask(container, "SELECT c.quarter, COUNT(1) AS k FROM c GROUP BY c.quarter");
        assertEquals(16, rows.size());
        assertEquals(45, rows.stream().filter(row -> !row.has("quarter")).findFirst().get().get("k").asInt());
        Queries.assertSameRows("[0,1,2,3,4]", ask(
                container, "SELECT VALUE c.nested.deep FROM c GROUP BY c.nested.deep"));
        Queries.assertSameRows("[{'u':'RED','k':20},{'u':'GREEN','k':20},{'u':'BLUE','k':20}]", ask(
                container, "SELECT UPPER(c.color) AS u, COUNT(1) AS k FROM c GROUP BY UPPER(c.color)"));
        Queries.assertSameRows("[{'name':'t0','k':45},{'name':'t1','k':30},{'name':'t2','k':15}]", ask(
                container, "SELECT t.name, COUNT(1) AS k FROM c JOIN t IN c.tags GROUP BY t.name"));
        Queries.assertRows("[]", ask(container, "SELECT c.color FROM c WHERE c.n < 0 GROUP BY c.color"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void distinct(CosmosContainer container) {
        Queries.assertSameRows("['red','green','blue']", ask(container, "SELECT DISTINCT VALUE c.color FROM c"));
        Queries.assertSameRows("[{'deep':0},{'deep':1},{'deep':2},{'deep':3},{'deep':4}]", ask(
                container, "SELECT DISTINCT VALUE c.nested FROM c"));
        assertEquals(6, ask(container, "SELECT DISTINCT c.color, c.even FROM c").size());
        Queries.assertRows("['red','green','blue']", ask(
                container, "SELECT DISTINCT VALUE c.color FROM c ORDER BY c.color DESC"));
        // Rows that have nothing of what is asked for are all the same row.
        Queries.assertSameRows("[{},{'quarter':0},{'quarter':1}]", ask(
                container, "SELECT DISTINCT c.quarter FROM c WHERE c.n < 8"));
        assertEquals(2, ask(container, "SELECT DISTINCT TOP 2 VALUE c.color FROM c").size());
        assertEquals(1, ask(container, "SELECT DISTINCT VALUE c.color FROM c OFFSET 2 LIMIT 5").size());
        Queries.assertRows("[3]", ask(
                container, "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.color FROM c)"));
        Queries.assertRows("[{'colors':3}]", ask(
                container, "SELECT COUNT(1) AS colors FROM (SELECT DISTINCT VALUE c.color FROM c)"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void topAndOffset(CosmosContainer container) {
        Queries.assertRows("[59,58,57]", ask(container, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC"));
        Queries.assertRows("[0,1,2,3]", ask(container, "SELECT TOP @p0 VALUE c.n FROM c ORDER BY c.n", 4));
        assertEquals(7, ask(container, "SELECT TOP 7 * FROM c").size());
        assertEquals(60, ask(container, "SELECT TOP 1000 * FROM c").size());
        Queries.assertRows("[]", ask(container, "SELECT TOP 0 * FROM c"));
        Queries.assertRows("[20,21,22,23,24]", ask(
                container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 20 LIMIT 5"));
        Queries.assertRows("[58,59]", ask(
                container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @p0 LIMIT @p1", 58, 10));
        Queries.assertRows("[]", ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 100 LIMIT 5"));
        Queries.assertRows("[]", ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 0"));
        assertEquals(10, ask(container, "SELECT * FROM c OFFSET 45 LIMIT 10").stream().distinct().count());
        assertEquals(5, ask(container, "SELECT * FROM c OFFSET 55 LIMIT 10").size());
    }

    @ParameterizedTest
    @MethodSource("containers")
    void joinsAndSubqueries(CosmosContainer container) {
        Queries.assertSameRows(
                "[{'id':'d03','t':'t0','w':3},{'id':'d03','t':'t1','w':4},{'id':'d03','t':'t2','w':5},"
                        + "{'id':'d02','t':'t0','w':2},{'id':'d02','t':'t1','w':3}]",
                ask(container, "SELECT c.id, t.name AS t, t.weight AS w FROM c JOIN t IN c.tags WHERE c.n IN (2, 3)"));
        assertEquals(15 * 4 + 15 * 9, ask(
                container, "SELECT a.name AS a, b.name AS b FROM c JOIN a IN c.tags JOIN b IN c.tags"
                        + " WHERE ARRAY_LENGTH(c.tags) > 1").size());
        Queries.assertSameRows("['t0','t1','t0']", ask(
                container, "SELECT VALUE t.name FROM t IN c.tags WHERE t.weight < 4 AND t.weight > 1"));
        Queries.assertSameRows("[3]", ask(
                container,
                "SELECT VALUE c.n FROM c WHERE c.n < 7"
                        + " AND EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t.name = 't2')"));
        Queries.assertRows("[{'id':'d03','names':['t0','t1','t2'],'heavy':5,'k':3}]", ask(
                container, "SELECT c.id, ARRAY(SELECT VALUE t.name FROM t IN c.tags) AS names,"
                        + " (SELECT VALUE MAX(t.weight) FROM t IN c.tags) AS heavy,"
                        + " (SELECT VALUE COUNT(1) FROM t IN c.tags) AS k FROM c WHERE c.n = 3"));
        Queries.assertSameRows("[118,116]", ask(
                container, "SELECT VALUE twice FROM c JOIN (SELECT VALUE c.n * 2) AS twice WHERE twice > 115"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void parameters(CosmosContainer container) {
        Queries.assertRows("['d05']", ask(container, "SELECT VALUE c.id FROM c WHERE c.n = @p0", 5));
        Queries.assertRows("['d05']", ask(container, "SELECT VALUE c.id FROM c WHERE c.price = @p0", 7.5));
        Queries.assertRows("['d05']", ask(container, "SELECT VALUE c.id FROM c WHERE c.id = @p0", "d05"));
        Queries.assertRows("[30]", ask(container, "SELECT VALUE COUNT(1) FROM c WHERE c.even = @p0", true));
        Queries.assertRows("[12]", ask(
                container, "SELECT VALUE COUNT(1) FROM c WHERE c.nested = @p0", Collections.singletonMap("deep", 1)));
        Queries.assertSameRows("[5,6,59]", ask(
                container, "SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(@p0, c.n)", Arrays.asList(5, 6, 59, 60)));
        Queries.assertRows("[{'x':null,'y':'it\\'s'}]".replace("\\'", "\\u0027"), ask(
                container, "SELECT @p0 AS x, @p1 AS y FROM c WHERE c.n = 0", null, "it's"));
        Queries.assertRows("['größe 数据 🦀 \\\\ \\n']", ask(
                container, "SELECT VALUE @p0 FROM c WHERE c.n = 0", "größe 数据 🦀 \\ \n"));
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void unicode(int throughput) {
        CosmosContainer container = Account.container(
                database, new CosmosContainerProperties(Account.unique("größe"), "/größe"), throughput);
        String[] words = {"Zebra", "apple", "äpfel", "größe", "яблоко", "数据", "🦀"};
        for (int n = 0; n < words.length; n++) {
            container.createItem(Account.json("{'ключ':" + n + "}").put("id", words[n]).put("größe", words[n]));
        }
        Queries.assertRows("[6]", ask(container, "SELECT VALUE c['ключ'] FROM c WHERE c['größe'] = '🦀'"));
        Queries.assertRows("[5]", ask(container, "SELECT VALUE c['ключ'] FROM c WHERE c['größe'] = @p0", "数据"));
        Queries.assertSameRows("[2,3]", ask(
                container,
                "SELECT VALUE c['ключ'] FROM c WHERE CONTAINS(c['größe'], 'ä') OR CONTAINS(c['größe'], 'ö')"));
        Queries.assertRows("['ÄPFEL']", ask(container, "SELECT VALUE UPPER(c.id) FROM c WHERE STARTSWITH(c.id, 'ä')"));
        // Code units decide, not letters.
        String inOrder = "['Zebra','apple','größe','äpfel','яблоко','数据','🦀']";
        String sql = "SELECT VALUE c['größe'] FROM c ORDER BY c['größe']";
        Queries.assertRows(inOrder, ask(container, sql));
        Queries.assertRows(inOrder, Queries.rows(Queries.resumed(container, sql, Queries.options(), 1)));
        Queries.assertSameRows("[{'ключ':3,'größe':'größe'}]", ask(
                container, "SELECT c['ключ'], c['größe'] FROM c WHERE c['ключ'] = 3"));
    }

    /** As every client sorts, and the service: characters above U+FFFF come before U+E000. */
    @ParameterizedTest
    @ValueSource(ints = {400, 30000})
    void stringsSortByUtf16Units(int throughput) {
        CosmosContainer container = Account.container(
                database, new CosmosContainerProperties(Account.unique("c"), "/pk"), throughput);
        String[] words = {"z", "数", "🌲", "🦀", "\ue000", "ﬁ", "ｚ", "\ufffd"};
        for (int n = 0; n < words.length; n++) {
            container.createItem(Account.json("{'id':'" + n + "','pk':'" + n + "','word':'" + words[n] + "'}"));
        }
        for (String sql : Arrays.asList(
                "SELECT VALUE c.word FROM c ORDER BY c.word",
                "SELECT VALUE c.word FROM c WHERE c.word >= 'z' AND c.word <= '\ufffd' ORDER BY c.word")) {
            List<JsonNode> rows = ask(container, sql);
            assertEquals(
                    Arrays.asList(words), rows.stream().map(JsonNode::asText).collect(Collectors.toList()));
            Queries.assertRows(rows, Queries.rows(Queries.resumed(container, sql, Queries.options(), 1)));
        }
    }

    @ParameterizedTest
    @MethodSource("containers")
    void partitionsAreAskedAtOnce(CosmosContainer container) {
        for (String sql : Arrays.asList(
                "SELECT VALUE c.n FROM c",
                "SELECT VALUE c.n FROM c ORDER BY c.n",
                "SELECT DISTINCT VALUE c.n FROM c")) {
            List<JsonNode> rows = Queries.all(container, sql, Queries.options()
                    .setMaxDegreeOfParallelism(-1)
                    .setMaxBufferedItemCount(100));
            Queries.assertSameRows(field(Queries.things(thing -> true), "n"), rows);
        }
    }

    @ParameterizedTest
    @MethodSource("containers")
    void pagesTellTheirCharge(CosmosContainer container) {
        List<FeedResponse<JsonNode>> pages = Queries.pages(container, "SELECT * FROM c", Queries.options(), 7);
        for (FeedResponse<JsonNode> page : pages) {
            assertTrue(page.getRequestCharge() > 0);
            assertNotNull(page.getActivityId());
        }
        assertNull(pages.get(pages.size() - 1).getContinuationToken());
    }
}
