package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosStoredProcedure;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ScriptsTest {
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

    /** A script that the suites of all languages share. */
    private static String source(String name) throws IOException {
        return Files.readString(Path.of("..", "support", "scripts", name + ".js"));
    }

    private static CosmosStoredProcedure procedure(String name) throws IOException {
        container.getScripts().createStoredProcedure(new CosmosStoredProcedureProperties(name, source(name)));
        return container.getScripts().getStoredProcedure(name);
    }

    private static void trigger(String name, TriggerType type, TriggerOperation operation) throws IOException {
        CosmosTriggerProperties properties = new CosmosTriggerProperties(name, source(name));
        properties.setTriggerType(type).setTriggerOperation(operation);
        container.getScripts().createTrigger(properties);
    }

    private static CosmosStoredProcedureRequestOptions options() {
        return new CosmosStoredProcedureRequestOptions().setPartitionKey(P);
    }

    private static CosmosStoredProcedureResponse call(CosmosStoredProcedure procedure, Object... arguments) {
        return procedure.execute(Arrays.asList(arguments), options());
    }

    @Test
    void aProcedureAnswers() throws IOException {
        CosmosStoredProcedure hello = procedure("helloWorld");
        CosmosStoredProcedureResponse response = call(hello, "Java");
        assertEquals("\"Hello, Java\"", response.getResponseAsString());
        assertEquals(200, response.getStatusCode());
        assertTrue(response.getRequestCharge() >= 4.6);
        assertEquals("\"Hello, World\"", call(hello).getResponseAsString());
    }

    @Test
    void allOrNothing() throws IOException {
        CosmosStoredProcedure swap = procedure("swapItems");
        container.createItem(Account.json("{'id':'ann','pk':'p','item':'sword'}"));
        container.createItem(Account.json("{'id':'bob','pk':'p','item':'shield'}"));
        container.createItem(Account.json("{'id':'cid','pk':'p'}"));
        assertEquals("true", call(swap, "ann", "bob").getResponseAsString());
        CosmosException failure = Account.refused(400, () -> call(swap, "ann", "cid"));
        assertEquals(400, failure.getSubStatusCode());
        assertEquals(404, Account.refused(400, () -> call(swap, "ann", "dan")).getSubStatusCode());
        assertEquals("shield", container.readItem("ann", P, ObjectNode.class).getItem().get("item").asText());
        assertEquals("sword", container.readItem("bob", P, ObjectNode.class).getItem().get("item").asText());
    }

    @Test
    void theLog() throws IOException {
        CosmosStoredProcedure talk = procedure("talk");
        CosmosStoredProcedureRequestOptions logged = options().setScriptLoggingEnabled(true);
        String log = talk.execute(List.of("Zoë"), logged).getScriptLog();
        assertEquals("Hello Zoë, you are number 7.\n{\"größe\":[1,2]}", log);
        assertNull(call(talk, "Zoë").getScriptLog());
        CosmosException failure = Account.refused(400, () -> call(talk, "Zoë", true));
        assertEquals(418, failure.getSubStatusCode());
        assertTrue(failure.getMessage().contains("I was told to fail."), failure.getMessage());
    }

    @Test
    void triggersBeforeAndAfter() throws IOException {
        trigger("upperCaseId", TriggerType.PRE, TriggerOperation.CREATE);
        trigger("updateMetadata", TriggerType.POST, TriggerOperation.CREATE);
        PartitionKey key = new PartitionKey("triggers");
        CosmosItemRequestOptions both = new CosmosItemRequestOptions()
                .setPreTriggerInclude(List.of("upperCaseId"))
                .setPostTriggerInclude(List.of("updateMetadata"));
        ObjectNode item = Account.json("{'id':'a','pk':'triggers','size':3}");
        assertEquals("A", container.createItem(item, key, both).getItem().get("id").asText());
        ObjectNode meta = container.readItem("_metadata", key, ObjectNode.class).getItem();
        assertEquals(3, meta.get("total").asInt());
        ObjectNode refused = Account.json("{'id':'b','pk':'triggers'}");
        assertEquals(400, Account.refused(400, () -> container.createItem(refused, key, both)).getSubStatusCode());
        Account.refused(404, () -> container.readItem("B", key, ObjectNode.class));
    }

    @Test
    void whoCannotBeCalled() {
        CosmosStoredProcedure unknown = container.getScripts().getStoredProcedure("unknown");
        Account.refused(404, () -> call(unknown));
    }
}
