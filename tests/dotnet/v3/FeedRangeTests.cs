// Feed ranges: a container in parts that workers read side by side.
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class FeedRangeTests
{
    [Test]
    public static async Task PartsMakeTheWhole(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        var ranges = await container.GetFeedRangesAsync();
        Check.Equal(3, ranges.Count);
        var seen = new List<JToken>();
        foreach (var range in ranges)
        {
            var kept = FeedRange.FromJsonString(range.ToJsonString());
            var options = new QueryRequestOptions { MaxItemCount = 5 };
            var query = new QueryDefinition("SELECT c.n, c.pk FROM c");
            seen.AddRange(await container.GetItemQueryIterator<JToken>(kept, query, null, options).All());
            var counts = await container.GetItemQueryIterator<int>(kept, new QueryDefinition("SELECT VALUE COUNT(1) FROM c")).All();
            Check.True(counts.Single() is > 0 and < 90, "each range has a part");
        }
        Check.SameSet(Enumerable.Range(0, 90), seen.Select(row => row["n"]));
    }

    [Test]
    public static async Task OrderedPagesStayInTheirRange(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        var seen = new List<int>();
        foreach (var range in await container.GetFeedRangesAsync())
        {
            var part = new List<int>();
            string token = null;
            do
            {
                var query = new QueryDefinition("SELECT VALUE c.n FROM c ORDER BY c.n DESC");
                using var pages = container.GetItemQueryIterator<int>(range, query, token, new QueryRequestOptions { MaxItemCount = 4 });
                var page = await pages.ReadNextAsync();
                part.AddRange(page);
                token = page.ContinuationToken;
            }
            while (token != null && part.Count < 200);
            Check.Equal(part.OrderByDescending(n => n), part);
            seen.AddRange(part);
        }
        Check.SameSet(Enumerable.Range(0, 90), seen);
    }

    [Test]
    public static async Task AKeyIsARange(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        var range = FeedRange.FromPartitionKey(new PartitionKey("p7"));
        // Queries with such a range fail inside this version of the SDK, whatever the server: azure-cosmos-dotnet-v3#6062.
        var changes = container.GetChangeFeedIterator<JObject>(ChangeFeedStartFrom.Beginning(range), ChangeFeedMode.Incremental);
        Check.SameSet(new[] { 7, 22, 37, 52, 67, 82 }, (await ChangeFeedTests.Drain(changes)).Select(change => change["n"]));
    }
}
