package sheaf;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Queries that cannot be answered say why. */
class QueryErrorsTest {
    private static CosmosDatabase database;
    private static CosmosContainer one;
    private static CosmosContainer three;

    @BeforeAll
    static void load() {
        database = Account.database();
        one = Account.container(database, new CosmosContainerProperties("one", "/pk"), 400);
        three = Account.container(database, new CosmosContainerProperties("three", "/pk"), 30000);
        for (CosmosContainer container : new CosmosContainer[] {one, three}) {
            container.createItem(Account.json("{'id':'a','pk':'p','n':1}"));
        }
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    static Stream<CosmosContainer> containers() {
        return Stream.of(one, three);
    }

    private static void refused(CosmosContainer container, String sql, String expected) {
        for (PartitionKey key : new PartitionKey[] {null, new PartitionKey("p")}) {
            String message = Queries.refused(
                    400, () -> Queries.all(container, sql, Queries.options().setPartitionKey(key))).getMessage();
            // The text comes quoted, once or several times, in the client's own JSON.
            String plain = message.replace("\\", "");
            assertTrue(plain.contains(expected), sql + ": " + message.substring(0, Math.min(700, message.length())));
        }
    }

    @ParameterizedTest
    @MethodSource("containers")
    void syntax(CosmosContainer container) {
        refused(container, "SELECT * FROM c WHERE c.n = = 1", "SC1001");
        refused(container, "SELECT * FROM c WHERE c.n = = 1", "Syntax error, incorrect syntax near '='.");
        refused(container, "SELECT * FROM c WHERE c.n = = 1", "\"location\":{\"start\":28,\"end\":29}");
        refused(container, "SELEC * FROM c", "SC1001");
        refused(container, "SELECT * FROM c WHERE c.n = 'open", "SC1012");
        refused(container, "", "SC");
    }

    @ParameterizedTest
    @MethodSource("containers")
    void names(CosmosContainer container) {
        Map<String, String> errors = new LinkedHashMap<>();
        errors.put("SELECT * FROM c WHERE x.n = 1", "SC2001");
        errors.put("SELECT nosuch(c.n) FROM c", "SC2005");
        errors.put("SELECT * FROM c JOIN c IN c.tags", "SC2");
        errors.put("SELECT ABS(c.n, 2) FROM c", "SC2050");
        errors.put("SELECT *", "SC2");
        errors.put("SELECT * FROM c JOIN t IN c.tags", "SC2043");
        errors.put("SELECT c.n, COUNT(1) FROM c GROUP BY c.pk", "SC2102");
        errors.put("SELECT * FROM c WHERE c.n = @missing", "@missing");
        errors.put("SELECT TOP 1.5 * FROM c", "SC2060");
        errors.put("SELECT * FROM c ORDER BY c.n + 1", "could not be mapped to a document path");
        errors.forEach((sql, expected) -> refused(container, sql, expected));
    }

    @Test
    void parametersNeedNames() {
        SqlQuerySpec query = new SqlQuerySpec("SELECT * FROM c WHERE c.n = @n", new SqlParameter("n", 1));
        Account.refused(400, () -> Queries.all(one, query, Queries.options()));
    }

    @Test
    void missingThings() {
        Account.refused(404, () -> Queries.all(database.getContainer("none"), "SELECT * FROM c"));
        Account.refused(404, () -> Queries.all(
                Account.client().getDatabase("none").getContainer("none"), "SELECT * FROM c"));
    }

    @ParameterizedTest
    @MethodSource("containers")
    void aFailureInTheMiddleDoesNotStopTheClient(CosmosContainer container) {
        for (int n = 0; n < 3; n++) {
            refused(container, "SELECT * FROM c WHERE", "SC1002");
            Queries.assertRows("[1]", Queries.all(container, "SELECT VALUE c.n FROM c"));
        }
        JsonNode row = Queries.all(container, "SELECT * FROM c").get(0);
        assertTrue(row.has("_rid") && row.has("_self") && row.has("_etag") && row.has("_ts"));
    }
}
