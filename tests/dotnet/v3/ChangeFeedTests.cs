// The change feed as pages that the reader pulls.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class ChangeFeedTests
{
    /// <summary>Reads until there is nothing new. Each page but the first comes from a new iterator if `anew` is given.</summary>
    public static async Task<List<T>> Drain<T>(FeedIterator<T> changes, Func<string, FeedIterator<T>> anew = null)
    {
        var seen = new List<T>();
        while (true)
        {
            var page = await changes.ReadNextAsync();
            if (page.StatusCode == HttpStatusCode.NotModified) return seen;
            seen.AddRange(page);
            if (anew != null) changes = anew(page.ContinuationToken);
        }
    }

    static FeedIterator<JObject> From(Container container, ChangeFeedStartFrom start, int? pageSize = null)
    {
        return container.GetChangeFeedIterator<JObject>(start, ChangeFeedMode.Incremental, new ChangeFeedRequestOptions { PageSizeHint = pageSize });
    }

    [Test]
    public static async Task TellsOfEveryDocument(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        var seen = await Drain(
            From(container, ChangeFeedStartFrom.Beginning(), 7),
            token => From(container, ChangeFeedStartFrom.ContinuationToken(token), 7));
        Check.SameSet(Enumerable.Range(0, 90), seen.Select(change => change["n"]));
        Check.True(seen.All(change => change["_lsn"] != null), "a change has its LSN");
    }

    [Test]
    public static async Task GoesOnWhereItStopped(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread(), Library.Documents.Take(20));
        var changes = From(container, ChangeFeedStartFrom.Beginning());
        string token = null;
        while (true)
        {
            var page = await changes.ReadNextAsync();
            token = page.ContinuationToken;
            if (page.StatusCode == HttpStatusCode.NotModified) break;
        }
        await Library.Fill(container, Library.Documents.Skip(20).Take(30));
        await container.UpsertItemAsync(new { id = "d0", pk = "p0", n = 1000 });
        await container.DeleteItemAsync<JObject>("d25", new PartitionKey("p10"));
        var expected = Enumerable.Range(20, 30).Where(n => n != 25).Append(1000).ToList();
        Check.SameSet(expected, (await Drain(From(container, ChangeFeedStartFrom.ContinuationToken(token)))).Select(change => change["n"]));
        Check.SameSet(expected, (await Drain(changes)).Select(change => change["n"]), "the first iterator goes on, too");
    }

    [Test]
    public static async Task BeginsWhereItIsTold(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread(), Library.Documents.Take(10));
        var now = From(container, ChangeFeedStartFrom.Now());
        Check.Equal(HttpStatusCode.NotModified, (await now.ReadNextAsync()).StatusCode);
        var hourAgo = From(container, ChangeFeedStartFrom.Time(DateTime.UtcNow.AddHours(-1)));
        var future = From(container, ChangeFeedStartFrom.Time(DateTime.UtcNow.AddHours(1)));
        Check.Equal(10, (await Drain(hourAgo)).Count, "from an hour ago");
        Check.Equal(0, (await Drain(future)).Count, "from the future");
        await Library.Fill(container, Library.Documents.Skip(10).Take(5));
        Check.SameSet(Enumerable.Range(10, 5), (await Drain(now)).Select(change => change["n"]));
    }

    [Test]
    public static async Task IsReadByRange(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        var parts = await Task.WhenAll((await container.GetFeedRangesAsync()).Select(
            range => Drain(From(container, ChangeFeedStartFrom.Beginning(range), 10))));
        Check.True(parts.All(part => part.Count > 0), "each range has changes");
        Check.SameSet(Enumerable.Range(0, 90), parts.SelectMany(part => part).Select(change => change["n"]));
    }

    [Test]
    public static async Task ComesAsStreams(Scene scene)
    {
        var container = await Library.Fill(await scene.Container(), Library.Documents.Take(12));
        var changes = container.GetChangeFeedStreamIterator(ChangeFeedStartFrom.Beginning(), ChangeFeedMode.LatestVersion);
        using var page = await changes.ReadNextAsync();
        Check.Equal(HttpStatusCode.OK, page.StatusCode);
        var body = JObject.Parse(await new StreamReader(page.Content).ReadToEndAsync());
        Check.Equal(12, body["_count"]);
        using var end = await changes.ReadNextAsync();
        Check.Equal(HttpStatusCode.NotModified, end.StatusCode);
        Check.True(end.ContinuationToken != null, "a token to go on with later");
    }
}
