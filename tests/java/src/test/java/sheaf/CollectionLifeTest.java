package sheaf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.ConflictResolutionPolicy;
import com.azure.cosmos.models.CosmosClientEncryptionKeyProperties;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.EncryptionKeyWrapMetadata;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Read-many, client encryption keys, and what a replacement may not change. */
class CollectionLifeTest {
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
    void manyAreReadFromSeveralPartitions() {
        String id = Account.unique("c");
        database.createContainer(new CosmosContainerProperties(id, "/pk"), ThroughputProperties.createManualThroughput(25000));
        CosmosContainer container = database.getContainer(id);
        List<CosmosItemIdentity> wanted = new ArrayList<>();
        for (int n = 0; n < 40; n++) {
            Map<String, Object> item = new HashMap<>();
            item.put("id", "i" + n);
            item.put("pk", "k" + n % 7);
            container.createItem(item);
            if (n % 3 == 0) {
                wanted.add(new CosmosItemIdentity(new PartitionKey("k" + n % 7), "i" + n));
            }
        }
        wanted.add(new CosmosItemIdentity(new PartitionKey("k1"), "nowhere"));
        assertEquals(3, container.getFeedRanges().size());
        assertEquals(14, container.readMany(wanted, JsonNode.class).getResults().size());
    }

    @Test
    void encryptionKeysAreReadAsTheyWereMade() {
        try (CosmosAsyncClient client = Account.builder().buildAsyncClient()) {
            CosmosAsyncDatabase async = client.getDatabase(database.getId());
            byte[] wrapped = {1, 2, 3, -4};
            CosmosClientEncryptionKeyProperties key = new CosmosClientEncryptionKeyProperties(
                    "key1", "AEAD_AES_256_CBC_HMAC_SHA256", wrapped,
                    new EncryptionKeyWrapMetadata("type", "name", "value", "RSA-OAEP"));
            async.createClientEncryptionKey(key).block();
            CosmosClientEncryptionKeyProperties read = async.getClientEncryptionKey("key1").read().block().getProperties();
            assertArrayEquals(wrapped, read.getWrappedDataEncryptionKey());
            assertEquals("name", read.getEncryptionKeyWrapMetadata().getName());
            assertEquals(1, async.readAllClientEncryptionKeys().collectList().block().size());
            assertEquals(1, async.queryClientEncryptionKeys("SELECT * FROM k WHERE k.id = 'key1'").collectList().block().size());
        }
    }

    @Test
    void howConflictsAreResolvedStays() {
        String id = Account.unique("c");
        database.createContainer(new CosmosContainerProperties(id, "/pk"));
        CosmosContainerProperties read = database.getContainer(id).read().getProperties();
        read.setConflictResolutionPolicy(ConflictResolutionPolicy.createLastWriterWinsPolicy("/userProvidedField"));
        CosmosException refused = assertThrows(CosmosException.class, () -> database.getContainer(id).replace(read));
        assertEquals(400, refused.getStatusCode());
        assertTrue(refused.getMessage().contains("Updating conflict resolution policy is currently not supported"));
    }
}
