package sheaf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ChangeFeedTest {
    private static CosmosDatabase database;

    /** What has changed, and where to go on. */
    private static final class Changes {
        final List<ObjectNode> items = new ArrayList<>();
        String continuation;

        List<String> ids() {
            return items.stream().map(item -> item.get("id").asText()).collect(Collectors.toList());
        }
    }

    @BeforeAll
    static void createDatabase() {
        database = Account.database();
    }

    @AfterAll
    static void deleteDatabase() {
        database.delete();
    }

    private static CosmosContainer filled(int throughput, int count) {
        CosmosContainerProperties properties = new CosmosContainerProperties(Account.unique("c"), "/pk");
        CosmosContainer container = Account.container(database, properties, throughput);
        for (int n = 0; n < count; n++) {
            create(container, n);
        }
        return container;
    }

    private static void create(CosmosContainer container, int n) {
        container.upsertItem(Account.json("{'id':'d" + n + "','pk':'k" + n % 7 + "','n':" + n + "}"));
    }

    private static Changes read(CosmosContainer container, CosmosChangeFeedRequestOptions options) {
        Changes changes = new Changes();
        for (FeedResponse<ObjectNode> page : container.queryChangeFeed(options, ObjectNode.class).iterableByPage()) {
            changes.items.addAll(page.getResults());
            changes.continuation = page.getContinuationToken();
        }
        return changes;
    }

    private static CosmosChangeFeedRequestOptions beginning(FeedRange range) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(range);
    }

    private static CosmosChangeFeedRequestOptions from(String continuation) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation);
    }

    private static TreeSet<String> names(int from, int to) {
        TreeSet<String> names = new TreeSet<>();
        IntStream.range(from, to).forEach(n -> names.add("d" + n));
        return names;
    }

    private static void until(String what, BooleanSupplier isSo) throws InterruptedException {
        for (int tries = 0; tries < 600; tries++) {
            if (isSo.getAsBoolean()) {
                return;
            }
            Thread.sleep(50);
        }
        throw new AssertionError("never came about: " + what);
    }

    @Test
    void fromTheBeginningAndOn() {
        for (int throughput : new int[] {400, 25000}) {
            CosmosContainer container = filled(throughput, 40);
            Changes all = read(container, beginning(FeedRange.forFullRange()).setMaxItemCount(6));
            assertEquals(40, all.items.size());
            assertEquals(names(0, 40), new TreeSet<>(all.ids()));
            assertTrue(all.items.stream().allMatch(item -> item.get("_lsn").asLong() > 0));
            assertEquals(List.of(), read(container, from(all.continuation)).ids());
            create(container, 3);
            create(container, 100);
            Changes more = read(container, from(all.continuation));
            assertEquals(new TreeSet<>(List.of("d3", "d100")), new TreeSet<>(more.ids()));
        }
    }

    @Test
    void fromNowAndFromATime() {
        CosmosContainer container = filled(400, 5);
        Changes now = read(container, CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()));
        assertEquals(List.of(), now.ids());
        create(container, 9);
        assertEquals(List.of("d9"), read(container, from(now.continuation)).ids());
        Instant past = Instant.now().minusSeconds(60);
        CosmosChangeFeedRequestOptions since =
                CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(past, FeedRange.forFullRange());
        assertEquals(6, read(container, since).items.size());
    }

    @Test
    void byKeyAndByRange() {
        CosmosContainer container = filled(25000, 40);
        for (int key = 0; key < 7; key++) {
            FeedRange range = FeedRange.forLogicalPartition(new PartitionKey("k" + key));
            int rest = key;
            List<String> expected =
                    IntStream.range(0, 40).filter(n -> n % 7 == rest).mapToObj(n -> "d" + n).collect(Collectors.toList());
            assertEquals(expected, read(container, beginning(range).setMaxItemCount(2)).ids());
        }
        List<String> found = new ArrayList<>();
        List<FeedRange> ranges = container.getFeedRanges();
        assertEquals(3, ranges.size());
        for (FeedRange range : ranges) {
            found.addAll(read(container, beginning(range)).ids());
        }
        assertEquals(40, found.size());
        assertEquals(names(0, 40), new TreeSet<>(found));
    }

    @Test
    void everyVersionAndTheEnd() {
        CosmosContainerProperties properties = new CosmosContainerProperties(Account.unique("c"), "/pk");
        properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
        CosmosContainer container = Account.container(database, properties, 400);
        CosmosChangeFeedRequestOptions now = CosmosChangeFeedRequestOptions
                .createForProcessingFromNow(FeedRange.forFullRange())
                .allVersionsAndDeletes();
        Changes start = read(container, now);
        container.createItem(Account.json("{'id':'a','pk':'x','n':1}"));
        container.upsertItem(Account.json("{'id':'a','pk':'x','n':2}"));
        container.deleteItem("a", new PartitionKey("x"), null);
        List<JsonNode> changes = new ArrayList<>();
        CosmosChangeFeedRequestOptions options = from(start.continuation).allVersionsAndDeletes();
        container.queryChangeFeed(options, JsonNode.class).forEach(changes::add);
        List<String> kinds =
                changes.stream().map(it -> it.get("metadata").get("operationType").asText()).collect(Collectors.toList());
        assertEquals(List.of("create", "replace", "delete"), kinds);
        assertEquals(2, changes.get(1).get("current").get("n").asInt());
        JsonNode replaced = changes.get(1).get("metadata");
        assertEquals(changes.get(0).get("metadata").get("lsn"), replaced.get("previousImageLSN"));
        assertEquals(2, changes.get(2).get("previous").get("n").asInt());
        assertEquals("a", changes.get(2).get("metadata").get("id").asText());
    }

    /** Two hosts share the ranges by leases; when one goes, the other takes over. */
    @Test
    void aProcessor() throws InterruptedException {
        CosmosContainer feed = filled(25000, 30);
        CosmosContainer leases =
                Account.container(database, new CosmosContainerProperties(Account.unique("leases"), "/id"), 400);
        try (CosmosAsyncClient client = Account.builder().buildAsyncClient()) {
            CosmosAsyncContainer feedContainer = client.getDatabase(database.getId()).getContainer(feed.getId());
            CosmosAsyncContainer leaseContainer = client.getDatabase(database.getId()).getContainer(leases.getId());
            Map<String, Integer> copy = new ConcurrentHashMap<>();
            ChangeFeedProcessorOptions options = new ChangeFeedProcessorOptions()
                    .setStartFromBeginning(true)
                    .setFeedPollDelay(Duration.ofMillis(200))
                    .setLeaseAcquireInterval(Duration.ofSeconds(1))
                    .setLeaseRenewInterval(Duration.ofSeconds(1))
                    .setLeaseExpirationInterval(Duration.ofSeconds(5))
                    .setMaxItemCount(5);
            ChangeFeedProcessor[] hosts = new ChangeFeedProcessor[2];
            for (int host = 0; host < 2; host++) {
                hosts[host] = new ChangeFeedProcessorBuilder()
                        .hostName("host" + host)
                        .feedContainer(feedContainer)
                        .leaseContainer(leaseContainer)
                        .options(options)
                        .handleChanges(changes -> changes.forEach(
                                item -> copy.put(item.get("id").asText(), item.get("n").asInt())))
                        .buildChangeFeedProcessor();
                hosts[host].start().block();
            }
            until("everything was handled", () -> copy.size() == 30);
            until("both have work", () -> owners(leases).size() == 2);
            hosts[0].stop().block();
            for (int n = 30; n < 60; n++) {
                create(feed, n);
            }
            until("the other has taken over", () -> copy.size() == 60);
            assertEquals(names(0, 60), new TreeSet<>(copy.keySet()));
            hosts[1].stop().block();
        }
    }

    private static TreeSet<String> owners(CosmosContainer leases) {
        TreeSet<String> owners = new TreeSet<>();
        leases.queryItems("SELECT VALUE c.Owner FROM c WHERE IS_STRING(c.Owner)", null, String.class)
                .forEach(owners::add);
        return owners;
    }

    @Test
    void aProcessorOfEveryVersion() throws InterruptedException {
        CosmosContainerProperties properties = new CosmosContainerProperties(Account.unique("c"), "/pk");
        properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
        CosmosContainer feed = Account.container(database, properties, 400);
        CosmosContainer leases =
                Account.container(database, new CosmosContainerProperties(Account.unique("leases"), "/id"), 400);
        try (CosmosAsyncClient client = Account.builder().buildAsyncClient()) {
            ConcurrentLinkedQueue<ChangeFeedProcessorItem> seen = new ConcurrentLinkedQueue<>();
            ChangeFeedProcessor host = new ChangeFeedProcessorBuilder()
                    .hostName("host")
                    .feedContainer(client.getDatabase(database.getId()).getContainer(feed.getId()))
                    .leaseContainer(client.getDatabase(database.getId()).getContainer(leases.getId()))
                    .options(new ChangeFeedProcessorOptions().setFeedPollDelay(Duration.ofMillis(200)))
                    .handleAllVersionsAndDeletesChanges(seen::addAll)
                    .buildChangeFeedProcessor();
            host.start().block();
            // It begins now: what comes before its first look is not its own.
            until("it looks", () -> {
                feed.upsertItem(Account.json("{'id':'first','pk':'x'}"));
                return !seen.isEmpty();
            });
            feed.createItem(Account.json("{'id':'a','pk':'x','n':1}"));
            feed.deleteItem("a", new PartitionKey("x"), null);
            until("the end was seen", () -> seen.stream().anyMatch(ChangeFeedTest::isDelete));
            ChangeFeedProcessorItem last = seen.stream().filter(ChangeFeedTest::isDelete).findFirst().orElseThrow();
            assertEquals(1, last.getPrevious().get("n").asInt());
            assertTrue(last.getChangeFeedMetaData().getPreviousLogSequenceNumber() > 0);
            host.stop().block();
        }
    }

    private static boolean isDelete(ChangeFeedProcessorItem item) {
        return item.getChangeFeedMetaData().getOperationType().toString().equalsIgnoreCase("delete");
    }
}
