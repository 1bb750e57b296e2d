// Queries without ORDER BY over several physical partitions: shapes, pages, options, errors.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class QueryTests
{
    static IReadOnlyList<JObject> Documents => Library.Documents;

    static async Task<Container> Filled(Scene scene)
    {
        return await Library.Fill(await scene.Spread());
    }

    /// <summary>Runs a query in one go and in pages of two sizes; rows may come in any order.</summary>
    static async Task Gives(Container container, string query, IEnumerable<object> expected, QueryRequestOptions options = null)
    {
        Check.SameSet(expected, await container.Rows(query, options), query);
        foreach (var pageSize in new[] { 3, 20 })
            Check.SameSet(expected, await container.Paged(query, pageSize, options), $"{query} in pages of {pageSize}");
    }

    [Test]
    public static async Task Filter(Scene scene)
    {
        var container = await Filled(scene);
        await Gives(container, "SELECT VALUE c.n FROM c", Documents.Select(d => d["n"]));
        await Gives(
            container,
            "SELECT c.id, c.n FROM c WHERE c.n > 40 AND c[\"group\"] IN ('g1', 'g2')",
            Documents.Where(d => (int)d["n"] > 40 && (int)d["n"] % 4 is 1 or 2).Select(d => new { id = d["id"], n = d["n"] }));
        await Gives(
            container,
            "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.mixed, 'word') OR IS_NULL(c.mixed)",
            Documents.Where(d => (int)d["n"] % 9 is 6 or 1).Select(d => d["id"]));
        await Gives(
            container,
            "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.mixed)",
            Documents.Where(d => d["mixed"] == null).Select(d => d["id"]));
        await Gives(container, "SELECT VALUE c.missing FROM c", Array.Empty<object>());
        await Gives(container, "SELECT VALUE c.missing ? 'a' : 'b' FROM c WHERE c.n = 1", new[] { "b" });
    }

    [Test]
    public static async Task TakeParameters(Scene scene)
    {
        var container = await Filled(scene);
        var query = new QueryDefinition(
            "SELECT VALUE c.n FROM c WHERE c.n < @most AND ARRAY_CONTAINS(@groups, c[\"group\"]) AND c.even = @even")
            .WithParameter("@most", 20)
            .WithParameter("@groups", new[] { "g0", "g3" })
            .WithParameter("@even", true);
        Check.SameSet(new[] { 0, 4, 8, 12, 16 }, await container.GetItemQueryIterator<int>(query).All());
    }

    [Test]
    public static async Task Join(Scene scene)
    {
        var container = await Filled(scene);
        await Gives(
            container,
            "SELECT c.n, t FROM c JOIN t IN c.tags WHERE t != 't1'",
            Documents.SelectMany(d => d["tags"].Where(t => (string)t != "t1").Select(t => new { n = d["n"], t })));
        await Gives(container, "SELECT VALUE t FROM t IN c.tags", Documents.SelectMany(d => d["tags"]));
        await Gives(
            container,
            "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 't4')",
            Documents.Where(d => d["tags"].Any(t => (string)t == "t4")).Select(d => d["id"]));
    }

    [Test]
    public static async Task AreDistinct(Scene scene)
    {
        var container = await Filled(scene);
        // The SDK gives no tokens for these, so they are read with one iterator.
        foreach (var size in new[] { -1, 4 })
        {
            var options = new QueryRequestOptions { MaxItemCount = size };
            Check.SameSet(new[] { "g0", "g1", "g2", "g3" }, await container.Rows("SELECT DISTINCT VALUE c[\"group\"] FROM c", options));
            Check.SameSet(
                Documents.Select(d => new { even = d["even"], group = d["group"] }).DistinctBy(pair => $"{pair}"),
                await container.Rows("SELECT DISTINCT c.even, c[\"group\"] FROM c", options));
            Check.SameSet(
                Documents.SelectMany(d => d["tags"].Select(t => (string)t)).Distinct(),
                await container.Rows("SELECT DISTINCT VALUE t FROM t IN c.tags", options));
        }
        Check.Equal(new[] { 4 }, await container.Rows("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c[\"group\"] FROM c)"));
    }

    [Test]
    public static async Task AreLimited(Scene scene)
    {
        var container = await Filled(scene);
        foreach (var (query, count) in new[]
        {
            ("SELECT TOP 11 VALUE c.n FROM c", 11),
            ("SELECT TOP 0 VALUE c.n FROM c", 0),
            ("SELECT VALUE c.n FROM c OFFSET 0 LIMIT 33", 33),
            ("SELECT VALUE c.n FROM c OFFSET 77 LIMIT 33", 13),
            ("SELECT VALUE c.n FROM c OFFSET 90 LIMIT 5", 0),
        })
        {
            var whole = await container.Rows(query);
            Check.Equal(count, whole.Count, query);
            Check.Equal(count, whole.Select(row => (int)row).Distinct().Count(), query);
            Check.Equal(whole, await container.Paged(query, 4), query);
        }
    }

    [Test]
    public static async Task Group(Scene scene)
    {
        var container = await Filled(scene);
        var expected = Documents.GroupBy(d => (string)d["group"]).Select(group => new
        {
            name = group.Key,
            documents = group.Count(),
            most = group.Max(d => (int)d["n"]),
            least = group.Min(d => (int)d["n"]),
            total = group.Sum(d => (int)d["n"]),
            mean = group.Average(d => (int)d["n"]),
        });
        const string query = "SELECT c[\"group\"] AS name, COUNT(1) AS documents, MAX(c.n) AS most, MIN(c.n) AS least, "
            + "SUM(c.n) AS total, AVG(c.n) AS mean FROM c GROUP BY c[\"group\"]";
        // The SDK gives no tokens for these, so they are read with one iterator.
        foreach (var size in new[] { -1, 3 })
            Check.SameSet(expected, await container.Rows(query, new QueryRequestOptions { MaxItemCount = size }));
        Check.SameSet(
            Documents.GroupBy(d => new { even = d["even"], group = d["group"] }.ToString()).Select(group => group.Count()),
            await container.Rows("SELECT VALUE COUNT(1) FROM c GROUP BY c.even, c[\"group\"]"));
    }

    [Test]
    public static async Task Aggregate(Scene scene)
    {
        var container = await Filled(scene);
        await Gives(container, "SELECT VALUE COUNT(1) FROM c WHERE c.even", new object[] { 45 });
        await Gives(container, "SELECT VALUE SUM(c.n) FROM c", new object[] { 4005 });
        await Gives(container, "SELECT VALUE AVG(c.n) FROM c", new object[] { 44.5 });
        await Gives(container, "SELECT VALUE MIN(c.n) FROM c WHERE c.n > 17", new object[] { 18 });
        await Gives(container, "SELECT VALUE MAX(c.id) FROM c", new object[] { "d9" });
        await Gives(container, "SELECT VALUE COUNT(c.mixed) FROM c", new object[] { 80 });
        await Gives(container, "SELECT VALUE SUM(c.missing) FROM c", new object[] { 0 });
        var lists = await container.Rows("SELECT VALUE MAKELIST(c.n) FROM c WHERE c.n < 12");
        Check.SameSet(Enumerable.Range(0, 12), lists.Single());
        var sets = await container.Rows("SELECT VALUE MAKESET(c[\"group\"]) FROM c");
        Check.SameSet(new[] { "g0", "g1", "g2", "g3" }, sets.Single());
    }

    [Test]
    public static async Task StayWithinAKey(Scene scene)
    {
        var container = await Filled(scene);
        var options = new QueryRequestOptions { PartitionKey = new PartitionKey("p2") };
        var mine = Documents.Where(d => (string)d["pk"] == "p2").ToList();
        await Gives(container, "SELECT VALUE c.n FROM c", mine.Select(d => d["n"]), options);
        await Gives(container, "SELECT VALUE COUNT(1) FROM c", new object[] { mine.Count }, options);
        Check.SameSet(mine.Select(d => d["n"]), (await container.Paged(null, 2, options)).Select(row => row["n"]), "the feed of a key");
        Check.SameSet(Documents.Select(d => d["n"]), (await container.Paged(null, 13)).Select(row => row["n"]), "the feed of all");
    }

    [Test]
    public static async Task FillTheirLastPage(Scene scene)
    {
        var container = await Filled(scene);
        // Six documents have the key.
        var counts = new List<int>();
        string token = null;
        do
        {
            var options = new QueryRequestOptions { PartitionKey = new PartitionKey("p2"), MaxItemCount = 3 };
            using var iterator = container.GetItemQueryIterator<JToken>("SELECT * FROM c", token, options);
            var page = await iterator.ReadNextAsync();
            counts.Add(page.Count);
            token = page.ContinuationToken;
        }
        while (token != null && counts.Count < 9);
        Check.Equal(new[] { 3, 3, 0 }, counts, "a page that is full at the end has a token");
    }

    [Test]
    public static async Task RunDirectlyWhereOnePartitionAnswers(Scene scene)
    {
        using var recorder = new Recorder();
        using var client = Suite.Connect(Suite.Endpoint, options => options.HttpClientFactory = () => new HttpClient(recorder, false));
        await Library.Fill(await scene.Container());
        var container = client.GetContainer(scene.Database.Id, "things");
        var direct = new QueryRequestOptions { EnableOptimisticDirectExecution = true };
        await Gives(container, "SELECT VALUE c.n FROM c WHERE c.n < 30", Enumerable.Range(0, 30).Cast<object>(), direct);
        Check.Equal(0, recorder.Requests.Count(request => request.Headers.Contains("x-ms-cosmos-is-query-plan-request")), "plans");
        Check.True(recorder.Requests.Any(request => request.Headers.Contains("x-ms-cosmos-query-optimisticdirectexecute")), "it was tried");
        // What needs merging is planned, and right all the same.
        Check.SameSet(new[] { "g0", "g1", "g2", "g3" }, await container.Rows("SELECT DISTINCT VALUE c[\"group\"] FROM c", direct));
        Check.SameSet(new[] { 45, 45 }, await container.Rows("SELECT VALUE COUNT(1) FROM c GROUP BY c.even", direct));
        Check.Equal(new[] { 90 }, await container.Rows("SELECT VALUE COUNT(1) FROM c", direct));
    }

    [Test]
    public static async Task HaveMetrics(Scene scene)
    {
        var container = await Filled(scene);
        var options = new QueryRequestOptions { PopulateIndexMetrics = true };
        using var iterator = container.GetItemQueryIterator<JToken>("SELECT * FROM c WHERE c.n > 80", null, options);
        var page = await iterator.ReadNextAsync();
        var metrics = page.Diagnostics.GetQueryMetrics().CumulativeMetrics;
        Check.Equal(page.Count, metrics.OutputDocumentCount);
        Check.True(metrics.TotalTime > TimeSpan.Zero, "time was spent");
        Check.Contains("/n/?", page.IndexMetrics);
    }

    [Test]
    public static async Task FailClearly(Scene scene)
    {
        var container = await Filled(scene);
        var syntax = await Suite.Fails(HttpStatusCode.BadRequest, () => container.Rows("SELECT * FORM c"));
        Check.Contains("SC1001", syntax.Message);
        var unknown = await Suite.Fails(HttpStatusCode.BadRequest, () => container.Rows("SELECT VALUE NOPE(c.n) FROM c"));
        Check.Contains("SC2005", unknown.Message);
        await Suite.Fails(HttpStatusCode.BadRequest, () => container.GetItemQueryIterator<JToken>("SELECT * FROM c", "nonsense").All());
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Database.GetContainer("none").Rows("SELECT * FROM c"));
    }

    [Test]
    public static async Task NeedNoFunctionOverNoDocuments(Scene scene)
    {
        var container = await scene.Container();
        Check.Equal(0, (await container.Rows("SELECT VALUE udf.none(c.n) FROM c")).Count);
    }
}
