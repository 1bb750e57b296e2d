// Databases and containers: their life, their policies, their feeds.
using System.Collections.ObjectModel;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class ContainerTests
{
    [Test]
    public static async Task LiveTheirLife(Scene scene)
    {
        var created = await scene.Database.CreateContainerAsync("things", "/pk");
        Check.Equal(HttpStatusCode.Created, created.StatusCode);
        Check.Equal(HttpStatusCode.OK, (await scene.Database.CreateContainerIfNotExistsAsync("things", "/pk")).StatusCode);
        await Suite.Fails(HttpStatusCode.Conflict, () => scene.Database.CreateContainerAsync("things", "/pk"));
        await scene.Database.CreateContainerAsync("others", "/a/b");
        var names = await scene.Database.GetContainerQueryIterator<JObject>("SELECT c.id FROM c").All();
        Check.SameSet(new[] { "things", "others" }, names.Select(found => found["id"]));
        var listed = await scene.Database.GetContainerQueryIterator<ContainerProperties>().All();
        Check.SameSet(new[] { "/pk", "/a/b" }, listed.Select(found => found.PartitionKeyPath));
        await created.Container.DeleteContainerAsync();
        await Suite.Fails(HttpStatusCode.NotFound, () => created.Container.ReadContainerAsync());
        var databases = await scene.Client.GetDatabaseQueryIterator<DatabaseProperties>(
            new QueryDefinition("SELECT * FROM d WHERE d.id = @id").WithParameter("@id", scene.Database.Id)).All();
        Check.Equal(1, databases.Count);
    }

    [Test]
    public static async Task KeepTheirPolicies(Scene scene)
    {
        var container = await scene.Database.DefineContainer("things", "/pk")
            .WithIndexingPolicy()
                .WithIndexingMode(IndexingMode.Consistent)
                .WithIncludedPaths().Path("/*").Attach()
                .WithExcludedPaths().Path("/secret/*").Attach()
                .WithCompositeIndex().Path("/a").Path("/b", CompositePathSortOrder.Descending).Attach()
                .WithSpatialIndex().Path("/place/*", SpatialType.Point).Attach()
                .Attach()
            .WithUniqueKey().Path("/mail").Attach()
            .WithDefaultTimeToLive(3600)
            .CreateAsync();
        var read = (await container.Container.ReadContainerAsync(new ContainerRequestOptions { PopulateQuotaInfo = true }));
        var policy = read.Resource.IndexingPolicy;
        Check.Equal(new[] { "/*" }, policy.IncludedPaths.Select(path => path.Path));
        Check.SameSet(new[] { "/secret/*", "/\"_etag\"/?" }, policy.ExcludedPaths.Select(path => path.Path));
        Check.Equal(new[] { "/a", "/b" }, policy.CompositeIndexes.Single().Select(path => path.Path));
        Check.Equal(4, policy.SpatialIndexes.Single().SpatialTypes.Count, "all four types come back");
        Check.Equal(new[] { "/mail" }, read.Resource.UniqueKeyPolicy.UniqueKeys.Single().Paths);
        Check.Equal(3600, read.Resource.DefaultTimeToLive);
        Check.Contains("collectionSize=", read.Headers["x-ms-resource-quota"]);
        Check.Equal("100", read.Headers["x-ms-documentdb-collection-index-transformation-progress"]);

        var changed = read.Resource;
        changed.DefaultTimeToLive = null;
        changed.IndexingPolicy.ExcludedPaths.Clear();
        var replaced = await container.Container.ReplaceContainerAsync(changed);
        Check.Equal(null, replaced.Resource.DefaultTimeToLive);
    }

    [Test]
    public static async Task HaveComputedProperties(Scene scene)
    {
        Container things = await scene.Database.CreateContainerAsync(new ContainerProperties("things", "/pk")
        {
            ComputedProperties = new Collection<ComputedProperty>
            {
                new() { Name = "lower", Query = "SELECT VALUE LOWER(c.name) FROM c" },
            },
        });
        foreach (var name in new[] { "Beta", "alpha", "GAMMA" }) await things.CreateItemAsync(new { id = name, pk = "p", name });
        Check.Equal(
            new[] { "alpha", "beta", "gamma" }, await things.Rows("SELECT VALUE c.lower FROM c ORDER BY c.lower"));
        var twice = new ContainerProperties("twice", "/pk")
        {
            ComputedProperties = new Collection<ComputedProperty>
            {
                new() { Name = "x", Query = "SELECT VALUE LOWER(c.name) FROM c" },
                new() { Name = "x", Query = "SELECT VALUE UPPER(c.name) FROM c" },
            },
        };
        var refused = await Suite.Fails(HttpStatusCode.BadRequest, () => scene.Database.CreateContainerAsync(twice));
        Check.Contains("Computed property name 'x' cannot be used in multiple definitions.", refused.ResponseBody);
    }

    [Test]
    public static async Task RefuseBadKeyPaths(Scene scene)
    {
        var refused = await Suite.Fails(HttpStatusCode.BadRequest, () => scene.Database.CreateContainerAsync("things", "/id ds"));
        Check.Contains("valid characters", refused.ResponseBody);
    }

    [Test]
    public static async Task DeleteTheDocumentsOfAKey(Scene scene)
    {
        var things = await Library.Fill(await scene.Spread());
        using var answer = await things.DeleteAllItemsByPartitionKeyStreamAsync(new PartitionKey("p3"));
        Check.Equal(HttpStatusCode.OK, answer.StatusCode);
        while ((await things.Rows("SELECT * FROM c WHERE c.pk = 'p3'")).Count > 0) await Task.Delay(50);
        Check.Equal(new[] { 84 }, await things.Rows("SELECT VALUE COUNT(1) FROM c"));
    }

    [Test]
    public static async Task AreMissedWithTheirDocuments(Scene scene)
    {
        var none = scene.Database.GetContainer("none");
        await Suite.Fails(HttpStatusCode.NotFound, () => none.ReadItemAsync<JObject>("1", new PartitionKey("p")));
        await Suite.Fails(HttpStatusCode.NotFound, () => none.CreateItemAsync(new { id = "1", pk = "p" }, new PartitionKey("p")));
        var nowhere = scene.Client.GetContainer("nowhere", "none");
        await Suite.Fails(HttpStatusCode.NotFound, () => nowhere.ReadItemAsync<JObject>("1", new PartitionKey("p")));
    }
}
