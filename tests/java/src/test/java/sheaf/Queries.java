package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.function.Executable;
import reactor.core.Exceptions;

/** How the tests ask, and the documents most of them ask about. */
final class Queries {
    static final int THINGS = 60;
    private static final String[] COLORS = {"red", "green", "blue"};

    private Queries() {}

    /** Document number n; every member of it is a function of n. */
    static ObjectNode thing(int n) {
        ObjectNode thing = JsonNodeFactory.instance.objectNode();
        thing.put("id", String.format("d%02d", n)).put("pk", "k" + n % 9).put("n", n);
        thing.put("color", COLORS[n % 3]).put("price", n * 1.5).put("even", n % 2 == 0);
        thing.putObject("nested").put("deep", n % 5);
        if (n % 4 == 0) {
            thing.put("quarter", n / 4);
        }
        for (int tag = 0; tag < n % 4; tag++) {
            thing.withArrayProperty("tags").addObject().put("name", "t" + tag).put("weight", n + tag);
        }
        return thing;
    }

    static List<ObjectNode> things(Predicate<ObjectNode> wanted) {
        List<ObjectNode> things = new ArrayList<>();
        for (int n = 0; n < THINGS; n++) {
            if (wanted.test(thing(n))) {
                things.add(thing(n));
            }
        }
        return things;
    }

    static CosmosContainer loaded(CosmosDatabase database, CosmosContainerProperties properties, int throughput) {
        CosmosContainer container = Account.container(database, properties, throughput);
        things(thing -> true).forEach(container::createItem);
        return container;
    }

    static CosmosQueryRequestOptions options() {
        return new CosmosQueryRequestOptions();
    }

    static List<JsonNode> all(CosmosContainer container, SqlQuerySpec query, CosmosQueryRequestOptions options) {
        List<JsonNode> rows = new ArrayList<>();
        container.queryItems(query, options, JsonNode.class).forEach(rows::add);
        return rows;
    }

    static List<JsonNode> all(CosmosContainer container, String sql) {
        return all(container, new SqlQuerySpec(sql), options());
    }

    static List<JsonNode> all(CosmosContainer container, String sql, CosmosQueryRequestOptions options) {
        return all(container, new SqlQuerySpec(sql), options);
    }

    /** The pages of a query, read on from each page's token as a client would that keeps no state. */
    static List<FeedResponse<JsonNode>> resumed(
            CosmosContainer container, String sql, CosmosQueryRequestOptions options, int size) {
        List<FeedResponse<JsonNode>> pages = new ArrayList<>();
        String token = null;
        do {
            FeedResponse<JsonNode> page = container
                    .queryItems(sql, options, JsonNode.class)
                    .iterableByPage(token, size)
                    .iterator()
                    .next();
            pages.add(page);
            token = page.getContinuationToken();
        } while (token != null && pages.size() < 1000);
        return pages;
    }

    /** The pages of a query, read one after the other. */
    static List<FeedResponse<JsonNode>> pages(
            CosmosContainer container, String sql, CosmosQueryRequestOptions options, int size) {
        List<FeedResponse<JsonNode>> pages = new ArrayList<>();
        container.queryItems(sql, options, JsonNode.class).iterableByPage(size).forEach(pages::add);
        return pages;
    }

    static List<JsonNode> rows(List<FeedResponse<JsonNode>> pages) {
        return pages.stream().flatMap(page -> page.getResults().stream()).collect(Collectors.toList());
    }

    /** One text for equal values: 1 and 1.0 are the same number, the order of members is free. */
    static String text(JsonNode value) {
        if (value.isObject()) {
            Map<String, String> members = new TreeMap<>();
            value.properties().forEach(member -> members.put(member.getKey(), text(member.getValue())));
            return members.toString();
        }
        if (value.isArray()) {
            List<String> elements = new ArrayList<>();
            value.forEach(element -> elements.add(text(element)));
            return elements.toString();
        }
        return value.isNumber() ? Double.toString(value.asDouble()) : value.toString();
    }

    static List<String> texts(List<? extends JsonNode> values) {
        return values.stream().map(Queries::text).collect(Collectors.toList());
    }

    static List<String> sorted(List<? extends JsonNode> values) {
        List<String> texts = texts(values);
        Collections.sort(texts);
        return texts;
    }

    static List<ObjectNode> own(List<JsonNode> documents) {
        return documents.stream().map(Account::own).collect(Collectors.toList());
    }

    /** A JSON array's elements; single quotes stand for double ones. */
    static List<JsonNode> json(String array) {
        List<JsonNode> elements = new ArrayList<>();
        Account.json("{'rows':" + array + "}").get("rows").forEach(elements::add);
        return elements;
    }

    /** Asserts that the call fails with this status, be it the server's or the client's own. */
    static CosmosException refused(int status, Executable call) {
        Throwable failure = assertThrows(RuntimeException.class, call);
        // Partitions that are asked at once fail at once.
        CosmosException refusal = (CosmosException) Exceptions.unwrapMultiple(failure).get(0);
        assertEquals(status, refusal.getStatusCode(), refusal.getShortMessage());
        return refusal;
    }

    static void assertRows(List<? extends JsonNode> expected, List<? extends JsonNode> actual) {
        assertEquals(texts(expected), texts(actual));
    }

    static void assertRows(String expected, List<? extends JsonNode> actual) {
        assertRows(json(expected), actual);
    }

    static void assertSameRows(List<? extends JsonNode> expected, List<? extends JsonNode> actual) {
        assertEquals(sorted(expected), sorted(actual));
    }

    static void assertSameRows(String expected, List<? extends JsonNode> actual) {
        assertSameRows(json(expected), actual);
    }
}
