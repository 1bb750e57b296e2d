// Hierarchical partition keys: whole keys, prefixes, values that are not there.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class HierarchyTests
{
    static JObject Visit(int n) => new() { ["id"] = "v" + n, ["tenant"] = "t" + n % 3, ["user"] = "u" + n % 6, ["session"] = n % 12, ["n"] = n };

    static PartitionKey KeyOf(JObject visit)
    {
        return new PartitionKeyBuilder().Add((string)visit["tenant"]).Add((string)visit["user"]).Add((double)visit["session"]).Build();
    }

    static async Task<Container> Filled(Scene scene)
    {
        var visits = await scene.Spread(new ContainerProperties("things", new List<string> { "/tenant", "/user", "/session" }));
        await Task.WhenAll(Enumerable.Range(0, 60).Select(n => visits.CreateItemAsync(Visit(n), KeyOf(Visit(n)))));
        return visits;
    }

    [Test]
    public static async Task PlaceDocuments(Scene scene)
    {
        var visits = await Filled(scene);
        Check.Equal(7, (await visits.ReadItemAsync<JObject>("v7", KeyOf(Visit(7)))).Resource["n"]);
        await visits.UpsertItemAsync(Visit(60));
        Check.Equal(60, (await visits.ReadItemAsync<JObject>("v60", KeyOf(Visit(60)))).Resource["n"]);
        await Suite.Fails(HttpStatusCode.BadRequest, () => visits.CreateItemAsync(Visit(61), KeyOf(Visit(60))), 1001);
        await visits.DeleteItemAsync<JObject>("v60", KeyOf(Visit(60)));
        using var batch = await visits.CreateTransactionalBatch(KeyOf(Visit(72)))
            .CreateItem(Visit(72)).CreateItem(Visit(84)).ExecuteAsync();
        Check.Equal(HttpStatusCode.OK, batch.StatusCode);
    }

    [Test]
    public static async Task AnswerByPrefix(Scene scene)
    {
        var visits = await Filled(scene);
        var tenant = new PartitionKeyBuilder().Add("t1").Build();
        var user = new PartitionKeyBuilder().Add("t1").Add("u4").Build();
        foreach (var (key, expected) in new[]
        {
            (tenant, Enumerable.Range(0, 60).Where(n => n % 3 == 1)),
            (user, Enumerable.Range(0, 60).Where(n => n % 6 == 4)),
            (KeyOf(Visit(10)), Enumerable.Range(0, 60).Where(n => n % 12 == 10)),
        })
        {
            var options = new QueryRequestOptions { PartitionKey = key };
            Check.SameSet(expected, await visits.Rows("SELECT VALUE c.n FROM c", options));
            Check.SameSet(expected, await visits.Paged("SELECT VALUE c.n FROM c", 3, options), "in pages");
            Check.Equal(expected.Reverse(), await visits.Paged("SELECT VALUE c.n FROM c ORDER BY c.n DESC", 4, options), "ordered");
            Check.Equal(new[] { expected.Count() }, await visits.Rows("SELECT VALUE COUNT(1) FROM c", options));
        }
        Check.SameSet(
            Enumerable.Range(0, 60).Where(n => n % 3 == 2),
            await visits.Paged("SELECT VALUE c.n FROM c WHERE c.tenant = 't2'", 7), "by the filter");
        var many = await visits.ReadManyItemsAsync<JObject>(Enumerable.Range(0, 60).Select(n => ("v" + n, KeyOf(Visit(n)))).ToList());
        Check.Equal(60, many.Count);
    }

    [Test]
    public static async Task MayLackLevels(Scene scene)
    {
        var visits = await scene.Spread(new ContainerProperties("things", new List<string> { "/tenant", "/user", "/session" }));
        var partly = new PartitionKeyBuilder().Add("t").AddNoneType().AddNoneType().Build();
        await visits.CreateItemAsync(new { id = "1", tenant = "t" }, partly);
        Check.Equal("1", (await visits.ReadItemAsync<JObject>("1", partly)).Resource["id"]);
        var nulls = new PartitionKeyBuilder().Add("t").AddNullValue().AddNullValue().Build();
        await Suite.Fails(HttpStatusCode.BadRequest, () => visits.CreateItemAsync(new { id = "2", tenant = "t" }, nulls), 1001);
        await visits.CreateItemAsync(new { id = "2", tenant = "t", user = (string)null, session = (string)null }, nulls);
        await Suite.Fails(HttpStatusCode.NotFound, () => visits.ReadItemAsync<JObject>("2", partly));
    }
}
