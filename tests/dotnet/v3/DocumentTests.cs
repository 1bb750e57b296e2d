// Documents: create, read, replace, upsert, delete; etags, sessions, streams, ids.
using System.Net;
using System.Text;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class DocumentTests
{
    static readonly PartitionKey Ada = new("ada");

    static JObject Order(string id, int total = 1) => new() { ["id"] = id, ["pk"] = "ada", ["total"] = total };

    static Stream Body(string json) => new MemoryStream(Encoding.UTF8.GetBytes(json));

    [Test]
    public static async Task LiveTheirLife(Scene scene)
    {
        var orders = await scene.Container();
        var created = await orders.CreateItemAsync(Order("1"), Ada);
        Check.Equal(HttpStatusCode.Created, created.StatusCode);
        Check.True(created.RequestCharge > 0, "a charge");
        Check.Equal(created.ETag, created.Resource["_etag"]);
        await Suite.Fails(HttpStatusCode.Conflict, () => orders.CreateItemAsync(Order("1"), Ada));

        var read = await orders.ReadItemAsync<JObject>("1", Ada);
        Check.Equal(created.Resource, read.Resource);

        var replaced = await orders.ReplaceItemAsync(Order("1", 2), "1", Ada);
        Check.Equal(2, replaced.Resource["total"]);
        Check.True(replaced.ETag != created.ETag, "another etag");

        Check.Equal(HttpStatusCode.OK, (await orders.UpsertItemAsync(Order("1", 3), Ada)).StatusCode);
        Check.Equal(HttpStatusCode.Created, (await orders.UpsertItemAsync(Order("2", 4))).StatusCode, "the key is taken from the body");

        Check.Equal(HttpStatusCode.NoContent, (await orders.DeleteItemAsync<JObject>("1", Ada)).StatusCode);
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.ReadItemAsync<JObject>("1", Ada), 0);
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.DeleteItemAsync<JObject>("1", Ada));
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.ReadItemAsync<JObject>("2", new PartitionKey("bob")));
    }

    [Test]
    public static async Task HaveEtags(Scene scene)
    {
        var orders = await scene.Container();
        var first = await orders.CreateItemAsync(Order("1"), Ada);
        var second = await orders.ReplaceItemAsync(Order("1", 2), "1", Ada, new ItemRequestOptions { IfMatchEtag = first.ETag });
        var stale = new ItemRequestOptions { IfMatchEtag = first.ETag };
        await Suite.Fails(HttpStatusCode.PreconditionFailed, () => orders.ReplaceItemAsync(Order("1", 3), "1", Ada, stale));
        await Suite.Fails(HttpStatusCode.PreconditionFailed, () => orders.UpsertItemAsync(Order("1", 3), Ada, stale));
        await Suite.Fails(HttpStatusCode.PreconditionFailed, () => orders.DeleteItemAsync<JObject>("1", Ada, stale));
        var known = new ItemRequestOptions { IfNoneMatchEtag = second.ETag };
        using var unchanged = await orders.ReadItemStreamAsync("1", Ada, known);
        Check.Equal(HttpStatusCode.NotModified, unchanged.StatusCode);
        var changed = await orders.ReadItemAsync<JObject>("1", Ada, new ItemRequestOptions { IfNoneMatchEtag = first.ETag });
        Check.Equal(2, changed.Resource["total"]);
    }

    [Test]
    public static async Task PassThroughStreams(Scene scene)
    {
        var orders = await scene.Container();
        using var created = await orders.CreateItemStreamAsync(Body("""{"id":"1","pk":"ada","price":1.50}"""), Ada);
        Check.Equal(HttpStatusCode.Created, created.StatusCode);
        using var read = await orders.ReadItemStreamAsync("1", Ada);
        Check.Contains("\"price\":1.50", await new StreamReader(read.Content).ReadToEndAsync());
        using var absent = await orders.ReadItemStreamAsync("2", Ada);
        Check.Equal(HttpStatusCode.NotFound, absent.StatusCode, "a status, not an exception");
        using var broken = await orders.CreateItemStreamAsync(Body("""{"id":"2","pk":"""), Ada);
        Check.Equal(HttpStatusCode.BadRequest, broken.StatusCode);
        using var otherKey = await orders.CreateItemStreamAsync(Body("""{"id":"2","pk":"bob"}"""), Ada);
        Check.Equal((HttpStatusCode.BadRequest, 1001), (otherKey.StatusCode, int.Parse(otherKey.Headers["x-ms-substatus"])));
        using var silent = await orders.UpsertItemStreamAsync(
            Body("""{"id":"1","pk":"ada"}"""), Ada, new ItemRequestOptions { EnableContentResponseOnWrite = false });
        Check.Equal(HttpStatusCode.OK, silent.StatusCode);
        Check.True(silent.Content == null || silent.Content.Length == 0, "no content was asked for");
        Check.True(silent.Headers.ETag != null, "an etag all the same");
    }

    [Test]
    public static async Task AreRenamedByReplace(Scene scene)
    {
        var orders = await scene.Container();
        await orders.CreateItemAsync(Order("1", 7), Ada);
        await orders.CreateItemAsync(Order("taken"), Ada);
        var renamed = await orders.ReplaceItemAsync(Order("one", 7), "1", Ada);
        Check.Equal("one", renamed.Resource["id"]);
        Check.Equal(7, (await orders.ReadItemAsync<JObject>("one", Ada)).Resource["total"]);
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.ReadItemAsync<JObject>("1", Ada));
        await Suite.Fails(HttpStatusCode.Conflict, () => orders.ReplaceItemAsync(Order("taken"), "one", Ada));
    }

    [Test]
    public static async Task AreMissedBeforeTheirBodyIsJudged(Scene scene)
    {
        var orders = await scene.Container();
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.ReplaceItemAsync(Order("1"), "1", Ada));
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.ReplaceItemAsync(Order("1"), "1", new PartitionKey("bob")));
        using var empty = await orders.ReplaceItemStreamAsync(Body(""), "1", Ada);
        Check.Equal(HttpStatusCode.NotFound, empty.StatusCode);
    }

    [Test]
    public static async Task HaveIdsWithSpecialCharacters(Scene scene)
    {
        var things = await scene.Container("/id");
        var ids = new[]
        {
            "This is a test", " Test", "鱀", "With,=.:~+-@()^${}[]!_Chars", "really?", "a&b=c", "50 % off", "O'Neil", "\"quoted\"",
        };
        foreach (var id in ids)
        {
            var key = new PartitionKey(id);
            await things.CreateItemAsync(new { id, n = 1 }, key);
            Check.Equal(id, (await things.ReadItemAsync<JObject>(id, key)).Resource["id"]);
            await things.ReplaceItemAsync(new { id, n = 2 }, id, key);
            await things.PatchItemAsync<JObject>(id, key, new[] { PatchOperation.Increment("/n", 1) });
        }
        // What a URL takes for something else can be stored and found, if not addressed.
        foreach (var id in new[] { "a/b", "a#b" }) await things.CreateItemAsync(new { id, n = 3 }, new PartitionKey(id));
        Check.SameSet(ids.Concat(new[] { "a/b", "a#b" }), await things.Rows("SELECT VALUE c.id FROM c WHERE c.n = 3"));
        foreach (var id in ids) await things.DeleteItemAsync<JObject>(id, new PartitionKey(id));
    }

    [Test]
    public static async Task MayHoldControlCharacters(Scene scene)
    {
        var orders = await scene.Container();
        using var created = await orders.CreateItemStreamAsync(Body("{\"id\":\"1\",\"pk\":\"ada\",\"text\":\"a\tb\rc\"}"), Ada);
        Check.Equal(HttpStatusCode.Created, created.StatusCode);
        Check.Equal("a\tb\rc", (await orders.ReadItemAsync<JObject>("1", Ada)).Resource["text"]);
    }

    [Test]
    public static async Task AreRefusedWhenTooLarge(Scene scene)
    {
        var orders = await scene.Container();
        var large = Order("1");
        large["text"] = new string('x', 3_000_000);
        await Suite.Fails(HttpStatusCode.RequestEntityTooLarge, () => orders.CreateItemAsync(large, Ada));
        large["text"] = new string('x', 12_000_000);
        await Suite.Fails(HttpStatusCode.RequestEntityTooLarge, () => orders.CreateItemAsync(large, Ada));
        large["text"] = new string('x', 1_900_000);
        await orders.CreateItemAsync(large, Ada);
    }

    [Test]
    public static async Task MayLackTheirKey(Scene scene)
    {
        var things = await scene.Container();
        await things.CreateItemAsync(new { id = "none" }, PartitionKey.None);
        await things.CreateItemAsync(new { id = "null", pk = (string)null }, PartitionKey.Null);
        await things.CreateItemAsync(new { id = "some", pk = "p" }, new PartitionKey("p"));
        Check.Equal("none", (await things.ReadItemAsync<JObject>("none", PartitionKey.None)).Resource["id"]);
        Check.Equal("null", (await things.ReadItemAsync<JObject>("null", PartitionKey.Null)).Resource["id"]);
        await Suite.Fails(HttpStatusCode.NotFound, () => things.ReadItemAsync<JObject>("none", PartitionKey.Null));
        foreach (var (key, id) in new[] { (PartitionKey.None, "none"), (PartitionKey.Null, "null"), (new PartitionKey("p"), "some") })
        {
            var options = new QueryRequestOptions { PartitionKey = key };
            Check.Equal(new[] { id }, await things.Rows("SELECT VALUE c.id FROM c", options), "query");
            var feed = await things.GetItemQueryIterator<JObject>((string)null, null, options).All();
            Check.Equal(new[] { id }, feed.Select(found => found["id"]), "feed");
        }
    }

    [Test]
    public static async Task AreReadAfterTheContainerWasMadeAnew(Scene scene)
    {
        var orders = await scene.Container();
        for (var i = 0; i < 5; i++) await orders.UpsertItemAsync(Order("old", i), Ada);
        using var other = Suite.Connect(Suite.Endpoint);
        await other.GetContainer(scene.Database.Id, orders.Id).DeleteContainerAsync();
        await other.GetDatabase(scene.Database.Id).CreateContainerAsync(orders.Id, "/pk");
        await other.GetContainer(scene.Database.Id, orders.Id).CreateItemAsync(Order("new"), Ada);
        // The first client still has the session of the old container.
        Check.Equal("new", (await orders.ReadItemAsync<JObject>("new", Ada)).Resource["id"]);
        await Suite.Fails(HttpStatusCode.NotFound, () => orders.ReadItemAsync<JObject>("old", Ada));
    }

    [Test]
    public static async Task AreReadInASessionOfAnotherClient(Scene scene)
    {
        var orders = await scene.Spread();
        using var other = Suite.Connect(Suite.Endpoint, options => options.ConsistencyLevel = ConsistencyLevel.Session);
        var seen = other.GetContainer(scene.Database.Id, orders.Id);
        for (var i = 0; i < 12; i++)
        {
            var key = "p" + i;
            var written = await orders.CreateItemAsync(new { id = "1", pk = key }, new PartitionKey(key));
            Check.True(!written.Headers.Session.Contains(','), "a token of one range: " + written.Headers.Session);
            var session = new ItemRequestOptions { SessionToken = written.Headers.Session };
            Check.Equal(key, (await seen.ReadItemAsync<JObject>("1", new PartitionKey(key), session)).Resource["pk"]);
        }
        Check.Equal(new[] { 12 }, await seen.Rows("SELECT VALUE COUNT(1) FROM c"));
    }

    [Test]
    public static async Task ExpireAndAreUnique(Scene scene)
    {
        var properties = new ContainerProperties("things", "/pk")
        {
            DefaultTimeToLive = -1,
            UniqueKeyPolicy = new UniqueKeyPolicy { UniqueKeys = { new UniqueKey { Paths = { "/mail" } } } },
        };
        Container things = await scene.Database.CreateContainerAsync(properties);
        await things.CreateItemAsync(new { id = "kept", pk = "ada", mail = "c@d" }, Ada);
        await Suite.Fails(HttpStatusCode.Conflict, () => things.CreateItemAsync(new { id = "2", pk = "ada", mail = "c@d" }, Ada));
        await things.CreateItemAsync(new { id = "1", pk = "ada", mail = "a@b", ttl = 1 }, Ada);
        await Suite.Fails(HttpStatusCode.BadRequest, () => things.CreateItemAsync(new { id = "3", pk = "ada", ttl = 0 }, Ada));
        while ((await things.Rows("SELECT * FROM c")).Count > 1) await Task.Delay(100);
        await Suite.Fails(HttpStatusCode.NotFound, () => things.ReadItemAsync<JObject>("1", Ada));
        await things.CreateItemAsync(new { id = "2", pk = "ada", mail = "a@b" }, Ada);
    }
}
