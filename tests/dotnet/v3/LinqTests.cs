// LINQ: what the SDK makes of C# expressions, over several physical partitions.
using System.Net;
using Microsoft.Azure.Cosmos;
using Microsoft.Azure.Cosmos.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

public static class LinqTests
{
    public class Thing
    {
        [JsonProperty("id")]
        public string Id { get; set; }

        [JsonProperty("pk")]
        public string Key { get; set; }

        [JsonProperty("n")]
        public int N { get; set; }

        [JsonProperty("group")]
        public string Group { get; set; }

        [JsonProperty("tags")]
        public List<string> Tags { get; set; }

        [JsonProperty("even")]
        public bool Even { get; set; }

        [JsonProperty("mixed")]
        public object Mixed { get; set; }
    }

    /// <summary>The same documents twice: in the database, and in memory to compare with.</summary>
    sealed record Both(Container Container, List<Thing> Memory)
    {
        public IQueryable<Thing> Stored => Container.GetItemLinqQueryable<Thing>();

        /// <summary>Runs a query over both.</summary>
        public async Task Agree<T>(Func<IQueryable<Thing>, IQueryable<T>> query, bool ordered = false)
        {
            var stored = query(Stored);
            var expected = query(Memory.AsQueryable()).ToList();
            var actual = await stored.ToFeedIterator().All();
            if (ordered) Check.Equal(expected, actual, stored.ToString());
            else Check.SameSet(expected, actual, stored.ToString());
        }
    }

    static async Task<Both> Filled(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        return new Both(container, Library.Documents.Select(document => document.ToObject<Thing>()).ToList());
    }

    [Test]
    public static async Task Where(Scene scene)
    {
        var both = await Filled(scene);
        await both.Agree(things => things.Where(thing => thing.N > 20 && thing.Even || thing.Group == "g1").Select(thing => thing.Id));
        await both.Agree(things => things.Where(thing => thing.Id.StartsWith("d1") && !thing.Id.EndsWith("3")).Select(thing => thing.N));
        await both.Agree(things => things.Where(thing => thing.Tags.Contains("t2")).Select(thing => thing.Id));
        await both.Agree(things => things.Where(thing => thing.Tags.Any(tag => tag == "t0")).Select(thing => thing.Id));
        await both.Agree(things => things.Where(thing => thing.Tags.Count() == 2).Select(thing => thing.Id));
        var wanted = new[] { 3, 5, 80 };
        await both.Agree(things => things.Where(thing => wanted.Contains(thing.N)));
        await both.Agree(things => things.Where(thing => thing.Group.ToUpper() == "G3" && Math.Abs(thing.N - 50) < 10).Select(thing => thing.N));
    }

    [Test]
    public static async Task Select(Scene scene)
    {
        var both = await Filled(scene);
        await both.Agree(things => things.Select(thing => new { thing.Id, Twice = thing.N * 2, Name = thing.Group + "-" + thing.Key }));
        await both.Agree(things => things.Select(thing => thing.Even ? "even" : "odd"));
        await both.Agree(things => things.SelectMany(thing => thing.Tags));
        await both.Agree(things => things.SelectMany(thing => thing.Tags.Where(tag => tag != "t1").Select(tag => new { thing.N, tag })));
        await both.Agree(things => things.Select(thing => thing.Group).Distinct());
    }

    [Test]
    public static async Task Order(Scene scene)
    {
        var both = await Filled(scene);
        await both.Agree(things => things.OrderBy(thing => thing.N), ordered: true);
        await both.Agree(things => things.OrderByDescending(thing => thing.N).Select(thing => thing.Id), ordered: true);
        await both.Agree(
            things => things.Where(thing => thing.Even).OrderBy(thing => thing.N).Skip(5).Take(12).Select(thing => thing.N), ordered: true);
        await both.Agree(things => things.OrderBy(thing => thing.N).Take(3), ordered: true);
        // Ordering what was projected is a subquery, which the database does not order.
        await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => both.Stored.Select(thing => new { M = thing.N }).OrderBy(thing => thing.M).ToFeedIterator().All());
    }

    [Test]
    public static async Task OrderInPages(Scene scene)
    {
        var both = await Filled(scene);
        var seen = new List<string>();
        string token = null;
        do
        {
            var options = new QueryRequestOptions { MaxItemCount = 8 };
            using var pages = both.Container.GetItemLinqQueryable<Thing>(false, token, options)
                .Where(thing => thing.N < 60).OrderByDescending(thing => thing.Group).ToFeedIterator();
            var page = await pages.ReadNextAsync();
            seen.AddRange(page.Select(thing => thing.Id));
            token = page.ContinuationToken;
        }
        while (token != null && seen.Count < 200);
        Check.SameSet(both.Memory.Where(thing => thing.N < 60).Select(thing => thing.Id), seen);
        var groups = seen.Select(id => both.Memory.First(thing => thing.Id == id).Group).ToList();
        Check.Equal(groups.OrderByDescending(group => group, StringComparer.Ordinal), groups);
    }

    [Test]
    public static async Task Aggregate(Scene scene)
    {
        var both = await Filled(scene);
        var even = both.Stored.Where(thing => thing.Even);
        Check.Equal(45, (await even.CountAsync()).Resource);
        Check.Equal(88, (await even.Select(thing => thing.N).MaxAsync()).Resource);
        Check.Equal(0, (await even.Select(thing => thing.N).MinAsync()).Resource);
        Check.Equal(1980, (await even.Select(thing => thing.N).SumAsync()).Resource);
        Check.Equal(44.0, (await even.Select(thing => thing.N).AverageAsync()).Resource);
        Check.Equal(90, (await both.Stored.OrderBy(thing => thing.Group).CountAsync()).Resource, "one row has no order");
        var blocking = both.Container.GetItemLinqQueryable<Thing>(allowSynchronousQueryExecution: true);
        Check.Equal(23, blocking.Count(thing => thing.Group == "g0"));
        Check.Equal(4005, blocking.Sum(thing => thing.N));
    }

    [Test]
    public static async Task Group(Scene scene)
    {
        var both = await Filled(scene);
        await both.Agree(things => things.GroupBy(thing => thing.Group, (name, members) => members.Count()));
        await both.Agree(things => things.GroupBy(thing => thing.Even, (even, members) => members.Max(member => member.N)));
    }

    [Test]
    public static async Task AskForTypes(Scene scene)
    {
        var both = await Filled(scene);
        var documents = Library.Documents;

        async Task Finds(IQueryable<Thing> query, Func<JObject, bool> expected)
        {
            var found = await query.ToFeedIterator().All();
            Check.SameSet(documents.Where(expected).Select(document => document["id"]), found.Select(thing => thing.Id), query.ToString());
        }

        await Finds(both.Stored.Where(thing => thing.Mixed.IsDefined()), document => document["mixed"] != null);
        await Finds(both.Stored.Where(thing => thing.Mixed.IsNull()), document => document["mixed"]?.Type == JTokenType.Null);
        await Finds(both.Stored.Where(thing => thing.Mixed.IsString()), document => document["mixed"]?.Type == JTokenType.String);
        await Finds(both.Stored.Where(thing => thing.Mixed.IsBool()), document => document["mixed"]?.Type == JTokenType.Boolean);
        await Finds(
            both.Stored.Where(thing => thing.Mixed.IsNumber()),
            document => document["mixed"]?.Type is JTokenType.Integer or JTokenType.Float);
        await Finds(both.Stored.Where(thing => thing.Tags.IsArray()), document => true);
        await Finds(both.Stored.Where(thing => thing.Id.RegexMatch("^d[0-4]$")), document => (int)document["n"] < 5);
        await Finds(
            both.Stored.Where(thing => thing.Tags.ArrayContainsAny("t0", "t4")),
            document => document["tags"].Any(tag => (string)tag is "t0" or "t4"));
    }
}
