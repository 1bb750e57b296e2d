// Patches: every operation, conditions, failures.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class PatchTests
{
    static readonly PartitionKey Key = new("p");

    static async Task<Container> Filled(Scene scene)
    {
        var things = await scene.Container();
        await things.CreateItemAsync(JObject.Parse("""{"id":"1","pk":"p","n":1,"name":"old","tags":["a","c"],"inner":{"x":1,"y":null}}"""), Key);
        return things;
    }

    [Test]
    public static async Task ChangePartsOfADocument(Scene scene)
    {
        var things = await Filled(scene);
        var patched = await things.PatchItemAsync<JObject>("1", Key, new[]
        {
            PatchOperation.Set("/name", "new"),
            PatchOperation.Increment("/n", 4),
            PatchOperation.Add("/tags/1", "b"),
            PatchOperation.Add("/tags/-", "d"),
            PatchOperation.Replace("/inner/x", 2.5),
            PatchOperation.Remove("/inner/y"),
            PatchOperation.Set("/inner/when", new DateTime(2020, 1, 2, 3, 4, 5, DateTimeKind.Utc)),
            PatchOperation.Move("/inner/x", "/moved"),
        });
        Check.Equal(
            JObject.Parse("""{"n":5,"name":"new","tags":["a","b","c","d"],"inner":{"when":"2020-01-02T03:04:05Z"},"moved":2.5}"""),
            JObject.FromObject(new
            {
                n = patched.Resource["n"],
                name = patched.Resource["name"],
                tags = patched.Resource["tags"],
                inner = patched.Resource["inner"],
                moved = patched.Resource["moved"],
            }));
        Check.Equal(patched.Resource, (await things.ReadItemAsync<JObject>("1", Key)).Resource);
    }

    [Test]
    public static async Task HaveConditions(Scene scene)
    {
        var things = await Filled(scene);
        var older = new PatchItemRequestOptions { FilterPredicate = "FROM c WHERE c.n = 1" };
        await things.PatchItemAsync<JObject>("1", Key, new[] { PatchOperation.Set("/n", 2) }, older);
        await Suite.Fails(
            HttpStatusCode.PreconditionFailed,
            () => things.PatchItemAsync<JObject>("1", Key, new[] { PatchOperation.Set("/n", 3) }, older));
        var stale = new PatchItemRequestOptions { IfMatchEtag = "\"stale\"" };
        await Suite.Fails(
            HttpStatusCode.PreconditionFailed,
            () => things.PatchItemAsync<JObject>("1", Key, new[] { PatchOperation.Set("/n", 3) }, stale));
        Check.Equal(new[] { 2 }, await things.Rows("SELECT VALUE c.n FROM c"));
    }

    [Test]
    public static async Task FailAsAWhole(Scene scene)
    {
        var things = await Filled(scene);
        await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => things.PatchItemAsync<JObject>("1", Key, new[] { PatchOperation.Set("/n", 9), PatchOperation.Remove("/absent") }));
        await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => things.PatchItemAsync<JObject>("1", Key, new[] { PatchOperation.Increment("/name", 1) }));
        await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => things.PatchItemAsync<JObject>("1", Key, new[] { PatchOperation.Set("/pk", "other") }));
        await Suite.Fails(
            HttpStatusCode.NotFound,
            () => things.PatchItemAsync<JObject>("2", Key, new[] { PatchOperation.Set("/n", 9) }));
        Check.Equal(new[] { 1 }, await things.Rows("SELECT VALUE c.n FROM c"));
    }
}
