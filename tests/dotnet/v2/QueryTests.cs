// SQL in pages: each page from a new query that has only the continuation token.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;
using Newtonsoft.Json.Linq;

public static class QueryTests
{
    static async Task<List<JToken>> Paged(Scene scene, string query, int pageSize, object key = null)
    {
        var rows = new List<JToken>();
        string token = null;
        var pages = 0;
        do
        {
            var options = new FeedOptions { MaxItemCount = pageSize, RequestContinuation = token };
            if (key == null) options.EnableCrossPartitionQuery = true;
            else options.PartitionKey = new PartitionKey(key);
            var page = await scene.Client.CreateDocumentQuery(scene.Things, query, options).AsDocumentQuery().ExecuteNextAsync<JToken>();
            rows.AddRange(page);
            token = page.ResponseContinuation;
            Check.True(++pages <= 200, $"no end after {pages} pages with {rows.Count} rows");
        }
        while (!string.IsNullOrEmpty(token));
        return rows;
    }

    static Task<List<JToken>> Whole(Scene scene, string query)
    {
        return scene.Client.CreateDocumentQuery(scene.Things, query, new FeedOptions { EnableCrossPartitionQuery = true }).Rows();
    }

    [Test]
    public static async Task FilterAndProject(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        foreach (var (query, expected) in new[]
        {
            ("SELECT VALUE c.n FROM c", Enumerable.Range(0, 60)),
            ("SELECT VALUE c.n FROM c WHERE c.n >= 20 AND c[\"group\"] = 'g3'", Enumerable.Range(20, 40).Where(n => n % 4 == 3)),
            ("SELECT VALUE c.n FROM c JOIN t IN c.tags WHERE t = 't1'", Enumerable.Range(0, 60).Where(n => n % 3 == 1)),
        })
        {
            Check.SameSet(expected, await Whole(scene, query), query);
            Check.SameSet(expected, await Paged(scene, query, 7), query + " in pages");
        }
        Check.SameSet(Enumerable.Range(0, 60).Where(n => n % 10 == 4), await Paged(scene, "SELECT VALUE c.n FROM c", 2, "p4"), "of a key");
    }

    [Test]
    public static async Task Order(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        const string query = "SELECT VALUE c.n FROM c ORDER BY c.n DESC";
        Check.Equal(Enumerable.Range(0, 60).Reverse(), await Whole(scene, query));
        foreach (var pageSize in new[] { 1, 8 })
            Check.Equal(Enumerable.Range(0, 60).Reverse(), await Paged(scene, query, pageSize), $"pages of {pageSize}");
    }

    [Test]
    public static async Task OrderWithTies(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        foreach (var direction in new[] { "ASC", "DESC" })
        {
            var query = $"SELECT c.id, c[\"group\"] FROM c ORDER BY c[\"group\"] {direction}";
            var whole = await Whole(scene, query);
            Check.SameSet(Scene.Documents.Select(document => document["id"]), whole.Select(row => row["id"]), query);
            var groups = whole.Select(row => (string)row["group"]).ToList();
            var sorted = groups.OrderBy(group => group, StringComparer.Ordinal);
            Check.Equal(direction == "ASC" ? sorted : sorted.Reverse(), groups, query);
            foreach (var pageSize in new[] { 1, 9 })
                Check.Equal(whole, await Paged(scene, query, pageSize), $"{query} in pages of {pageSize}");
        }
    }

    /// <summary>
    /// Read with one query: going on from a token, this SDK filters by comparing with the last value, which leaves out
    /// values of other types, whatever the server.
    /// </summary>
    [Test]
    public static async Task OrderMixedAndUndefinedValues(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        foreach (var direction in new[] { "ASC", "DESC" })
        {
            var rows = await Whole(scene, $"SELECT c.id, c.maybe FROM c ORDER BY c.maybe {direction}");
            Check.SameSet(Scene.Documents.Select(document => document["id"]), rows.Select(row => row["id"]), direction);
            var types = rows.Select(row => row["maybe"]?.Type.ToString() ?? "Undefined").ToList();
            var runs = types.Where((type, i) => i == 0 || types[i - 1] != type).ToList();
            if (direction == "DESC") runs.Reverse();
            Check.Equal(new[] { "Undefined", "Boolean", "Integer", "String" }, runs, direction);
        }
    }

    [Test]
    public static async Task AreLimited(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        Check.Equal(Enumerable.Range(0, 13), await Paged(scene, "SELECT TOP 13 VALUE c.n FROM c ORDER BY c.n", 5));
        Check.Equal(Enumerable.Range(4, 20), await Paged(scene, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 20", 6));
        Check.Equal(13, (await Paged(scene, "SELECT TOP 13 VALUE c.n FROM c", 5)).Count);
    }

    [Test]
    public static async Task AreDistinctAndAggregate(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        Check.SameSet(new[] { "g0", "g1", "g2", "g3" }, await Whole(scene, "SELECT DISTINCT VALUE c[\"group\"] FROM c"));
        Check.Equal(new[] { "g0", "g1", "g2", "g3" }, await Whole(scene, "SELECT DISTINCT VALUE c[\"group\"] FROM c ORDER BY c[\"group\"]"));
        Check.Equal(new[] { 60 }, await Whole(scene, "SELECT VALUE COUNT(1) FROM c"));
        Check.Equal(new[] { 1770 }, await Whole(scene, "SELECT VALUE SUM(c.n) FROM c"));
        Check.Equal(new[] { 29.5 }, await Whole(scene, "SELECT VALUE AVG(c.n) FROM c"));
        Check.Equal(new[] { "d9" }, await Whole(scene, "SELECT VALUE MAX(c.id) FROM c"));
    }

    [Test]
    public static async Task TakeParameters(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        var query = new SqlQuerySpec(
            "SELECT VALUE c.n FROM c WHERE c.n < @most AND c[\"group\"] = @group",
            new SqlParameterCollection { new SqlParameter("@most", 10), new SqlParameter("@group", "g1") });
        Check.SameSet(
            new[] { 1, 5, 9 },
            await scene.Client.CreateDocumentQuery(scene.Things, query, new FeedOptions { EnableCrossPartitionQuery = true }).Rows());
    }

    [Test]
    public static async Task FailClearly(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        var syntax = await Suite.Fails(HttpStatusCode.BadRequest, () => Whole(scene, "SELECT * FORM c"));
        Check.Contains("SC1001", syntax.Message);
        var crossing = await Suite.Fails(
            HttpStatusCode.BadRequest, () => scene.Client.CreateDocumentQuery(scene.Things, "SELECT * FROM c", new FeedOptions()).Rows());
        Check.Contains("ross partition query is required but disabled", crossing.Message);
    }
}
