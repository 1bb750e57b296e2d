// LINQ: what the SDK makes of C# expressions.
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;
using Newtonsoft.Json;

public static class LinqTests
{
    public class Thing
    {
        [JsonProperty("id")]
        public string Id { get; set; }

        [JsonProperty("n")]
        public int N { get; set; }

        [JsonProperty("group")]
        public string Group { get; set; }

        [JsonProperty("tags")]
        public List<string> Tags { get; set; }
    }

    static async Task Agree<T>(Scene scene, Func<IQueryable<Thing>, IQueryable<T>> query, bool ordered = false)
    {
        var stored = query(scene.Client.CreateDocumentQuery<Thing>(scene.Things, new FeedOptions { EnableCrossPartitionQuery = true }));
        var expected = query(Scene.Documents.Select(document => document.ToObject<Thing>()).AsQueryable()).ToList();
        var pages = stored.AsDocumentQuery();
        var actual = new List<T>();
        while (pages.HasMoreResults) actual.AddRange(await pages.ExecuteNextAsync<T>());
        if (ordered) Check.Equal(expected, actual, stored.ToString());
        else Check.SameSet(expected, actual, stored.ToString());
    }

    [Test]
    public static async Task FilterProjectAndJoin(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        await Agree(scene, things => things.Where(thing => thing.N > 20 && thing.Group != "g1"));
        await Agree(scene, things => things.Where(thing => thing.Id.StartsWith("d1")).Select(thing => new { thing.Id, Twice = thing.N * 2 }));
        await Agree(scene, things => things.Where(thing => thing.Tags.Contains("t2")).Select(thing => thing.N));
        await Agree(scene, things => things.SelectMany(thing => thing.Tags.Where(tag => tag != "x").Select(tag => new { thing.N, tag })));
        await Agree(scene, things => things.OrderByDescending(thing => thing.N).Take(9).Select(thing => thing.Id), ordered: true);
        await Agree(scene, things => things.OrderBy(thing => thing.N), ordered: true);
    }

    [Test]
    public static async Task Aggregate(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        var all = scene.Client.CreateDocumentQuery<Thing>(scene.Things, new FeedOptions { EnableCrossPartitionQuery = true });
        Check.Equal(60, await all.CountAsync());
        Check.Equal(15, all.Where(thing => thing.Group == "g2").Count());
        Check.Equal(1770, await all.Select(thing => thing.N).SumAsync());
        Check.Equal(59, await all.Select(thing => thing.N).MaxAsync());
        Check.Equal(0, await all.Select(thing => thing.N).MinAsync());
        Check.Equal(29.5, await all.Select(thing => thing.N).AverageAsync());
    }

    [Test]
    public static async Task FindResources(Scene scene)
    {
        await scene.Collection();
        var collection = scene.Client.CreateDocumentCollectionQuery(scene.DatabaseLink)
            .Where(found => found.Id == "things").AsEnumerable().Single();
        Check.Equal("/pk", collection.PartitionKey.Paths.Single());
        var database = scene.Client.CreateDatabaseQuery().Where(found => found.Id == scene.Database).AsEnumerable().Single();
        Check.Equal(scene.Database, database.Id);
    }
}
