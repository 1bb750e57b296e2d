// ORDER BY over several physical partitions, in one go and page by page from continuation tokens.
using System.Collections.ObjectModel;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class OrderTests
{
    static async Task<Container> Filled(Scene scene)
    {
        return await Library.Fill(await scene.Spread());
    }

    static Task Ordered(Container container, string key, bool descending = false, QueryRequestOptions options = null)
    {
        var direction = descending ? "DESC" : "ASC";
        return Paging.IsOrdered(container, Library.Documents, $"ORDER BY c[\"{key}\"] {direction}", new[] { key }, new[] { descending }, options);
    }

    [Test]
    public static async Task OfUniqueNumbers(Scene scene)
    {
        var container = await Filled(scene);
        await Ordered(container, "n");
        await Ordered(container, "n", descending: true);
    }

    [Test]
    public static async Task WithTies(Scene scene)
    {
        var container = await Filled(scene);
        await Ordered(container, "group");
        await Ordered(container, "group", descending: true);
    }

    [Test]
    public static async Task OfMixedAndUndefinedValues(Scene scene)
    {
        await Ordered(await Filled(scene), "mixed");
    }

    [Test]
    public static async Task OfMixedAndUndefinedValuesBackwards(Scene scene)
    {
        await Ordered(await Filled(scene), "mixed", descending: true);
    }

    [Test]
    public static async Task OfArraysAndObjects(Scene scene)
    {
        await Ordered(await Filled(scene), "deep");
    }

    [Test]
    public static async Task OfArraysAndObjectsBackwards(Scene scene)
    {
        await Ordered(await Filled(scene), "deep", descending: true);
    }

    [Test]
    public static async Task OfAPropertyThatNoneHas(Scene scene)
    {
        await Ordered(await Filled(scene), "never");
    }

    [Test]
    public static async Task OfMixedValuesInOnePartition(Scene scene)
    {
        var container = await Library.Fill(await scene.Container());
        await Ordered(container, "mixed");
        await Ordered(container, "mixed", descending: true, new QueryRequestOptions { EnableOptimisticDirectExecution = true });
    }

    [Test]
    public static async Task WithinAKey(Scene scene)
    {
        var container = await Filled(scene);
        var mine = Library.Documents.Where(document => (string)document["pk"] == "p3").ToList();
        var options = new QueryRequestOptions { PartitionKey = new PartitionKey("p3") };
        await Paging.IsOrdered(container, mine, "ORDER BY c.mixed DESC", new[] { "mixed" }, new[] { true }, options);
    }

    [Test]
    public static async Task WithAFilter(Scene scene)
    {
        var container = await Filled(scene);
        var some = Library.Documents.Where(document => (int)document["n"] % 2 == 0 && (string)document["group"] != "g2").ToList();
        await Paging.IsOrdered(
            container, some, "WHERE c.even AND c[\"group\"] != 'g2' ORDER BY c.mixed", new[] { "mixed" }, new[] { false });
    }

    [Test]
    public static async Task OfTwoKeys(Scene scene)
    {
        var properties = new ContainerProperties("things", "/pk");
        properties.IndexingPolicy.CompositeIndexes.Add(new Collection<CompositePath>
        {
            new() { Path = "/group", Order = CompositePathSortOrder.Ascending },
            new() { Path = "/mixed", Order = CompositePathSortOrder.Descending },
        });
        var container = await Library.Fill(await scene.Spread(properties));
        foreach (var (first, second) in new[] { (false, true), (true, false) })
        {
            var clauses = $"ORDER BY c[\"group\"] {(first ? "DESC" : "ASC")}, c.mixed {(second ? "DESC" : "ASC")}";
            await Paging.IsOrdered(
                container, Library.Documents, clauses, new[] { "group", "mixed" }, new[] { first, second });
        }
        await Suite.Fails(HttpStatusCode.BadRequest, () => container.Rows("SELECT * FROM c ORDER BY c.mixed, c.n"));
        Check.Equal(new[] { 90 }, await container.Rows("SELECT VALUE COUNT(1) FROM c ORDER BY c.mixed, c.n"), "one row has no order");
    }

    [Test]
    public static async Task OfRowsThatAJoinRepeats(Scene scene)
    {
        var container = await Filled(scene);
        const string query = "SELECT c.id, c.n, t AS tag FROM c JOIN t IN c.tags ORDER BY c.n DESC";
        var expected = Library.Documents.OrderByDescending(document => (int)document["n"]).SelectMany(
            document => document["tags"].Select(tag => new { id = (string)document["id"], n = (int)document["n"], tag = (string)tag }));
        Check.Equal(expected, await container.Rows(query), "in one go");
        foreach (var pageSize in new[] { 1, 4 }) Check.Equal(expected, await container.Paged(query, pageSize), $"pages of {pageSize}");
    }

    [Test]
    public static async Task WithOffsetAndLimit(Scene scene)
    {
        var container = await Filled(scene);
        const string query = "SELECT VALUE c.id FROM c ORDER BY c.mixed DESC OFFSET 7 LIMIT 40";
        var whole = await container.Rows("SELECT VALUE c.id FROM c ORDER BY c.mixed DESC");
        Check.Equal(90, whole.Count);
        var expected = whole.Skip(7).Take(40);
        Check.Equal(expected, await container.Rows(query), "in one go");
        foreach (var pageSize in new[] { 3, 11 }) Check.Equal(expected, await container.Paged(query, pageSize), $"pages of {pageSize}");
    }

    [Test]
    public static async Task WithTop(Scene scene)
    {
        var container = await Filled(scene);
        const string query = "SELECT TOP 25 VALUE c.id FROM c ORDER BY c.mixed";
        var whole = await container.Rows("SELECT VALUE c.id FROM c ORDER BY c.mixed");
        Check.Equal(90, whole.Count);
        Check.Equal(whole.Take(25), await container.Rows(query), "in one go");
        foreach (var pageSize in new[] { 2, 9 }) Check.Equal(whole.Take(25), await container.Paged(query, pageSize), $"pages of {pageSize}");
    }

    [Test]
    public static async Task WithDistinct(Scene scene)
    {
        var container = await Filled(scene);
        const string query = "SELECT DISTINCT VALUE c.mixed FROM c ORDER BY c.mixed";
        var expected = new List<JToken>();
        var values = Library.Documents.Select(document => document["mixed"]).Where(value => value != null);
        foreach (var value in values.OrderBy(value => value, Comparer<JToken>.Create(Library.Compare)))
            if (expected.Count == 0 || Library.Compare(expected[^1], value) != 0) expected.Add(value);
        Check.Equal(expected, await container.Rows(query), "in one go");
        foreach (var pageSize in new[] { 1, 6 }) Check.Equal(expected, await container.Paged(query, pageSize), $"pages of {pageSize}");
    }

    [Test]
    public static async Task IsThatOfCreationWithoutAClause(Scene scene)
    {
        var container = await scene.Container();
        foreach (var document in Library.Documents.Take(30)) await container.CreateItemAsync(document);
        var expected = Enumerable.Range(0, 30);
        Check.Equal(expected, await container.Rows("SELECT VALUE c.n FROM c"), "a query");
        Check.Equal(expected, await container.Paged("SELECT VALUE c.n FROM c", 7), "its pages");
        Check.Equal(expected.Where(n => n % 2 == 0), await container.Paged("SELECT VALUE c.n FROM c WHERE c.even", 4), "a filter");
        Check.Equal(expected, (await container.Paged(null, 7)).Select(row => row["n"]), "the feed");
    }

    [Test]
    public static async Task OfASubqueryIsRefused(Scene scene)
    {
        var container = await Filled(scene);
        var refused = await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => container.Rows("SELECT VALUE r0 FROM (SELECT VALUE {\"n\": c.n} FROM c) AS r0 ORDER BY r0[\"n\"]"));
        Check.Contains("2206", refused.ResponseBody);
    }
}
