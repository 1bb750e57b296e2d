package sheaf;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

/** Direct mode, the SDK's default, is not spoken: the error says what to do. */
class DirectModeTest {
    @Test
    void isRefusedWithAdvice() {
        CosmosDatabase database = Account.database();
        CosmosContainer container = Account.container(database);
        container.createItem(Account.json("{'id':'a','pk':'p'}"));
        try (CosmosClient direct = Account.builder().directMode().buildClient()) {
            CosmosContainer same = direct.getDatabase(database.getId()).getContainer(container.getId());
            CosmosException failure = Account.refused(
                    400, () -> same.readItem("a", new PartitionKey("p"), ObjectNode.class));
            assertTrue(failure.getMessage().toLowerCase().contains("gateway mode"), failure.getMessage());
        }
        database.delete();
    }
}
