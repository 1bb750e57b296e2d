// The change feed, range by range, as this SDK reads it.
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;

public static class ChangeFeedTests
{
    /// <summary>Reads every range to its end from where the tokens say, and moves the tokens.</summary>
    static async Task<List<int>> Read(Scene scene, Dictionary<string, string> tokens)
    {
        var seen = new List<int>();
        foreach (var range in await scene.Client.ReadPartitionKeyRangeFeedAsync(scene.Things))
        {
            tokens.TryGetValue(range.Id, out var token);
            var changes = scene.Client.CreateDocumentChangeFeedQuery(scene.Things, new ChangeFeedOptions
            {
                PartitionKeyRangeId = range.Id,
                StartFromBeginning = true,
                RequestContinuation = token,
                MaxItemCount = 6,
            });
            while (changes.HasMoreResults)
            {
                var page = await changes.ExecuteNextAsync<Document>();
                seen.AddRange(page.Select(document => document.GetPropertyValue<int>("n")));
                tokens[range.Id] = page.ResponseContinuation;
            }
        }
        return seen;
    }

    [Test]
    public static async Task IsReadByRange(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        var tokens = new Dictionary<string, string>();
        Check.SameSet(Enumerable.Range(0, 60), await Read(scene, tokens));
        Check.Equal(3, tokens.Count);
        Check.Equal(0, (await Read(scene, tokens)).Count, "nothing is new");
        await scene.Client.UpsertDocumentAsync(scene.Things, new { id = "d7", pk = "p7", n = 700 });
        await scene.Client.CreateDocumentAsync(scene.Things, new { id = "new", pk = "p2", n = 800 });
        Check.SameSet(new[] { 700, 800 }, await Read(scene, tokens));
    }

    [Test]
    public static async Task BeginsAtATime(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        foreach (var (start, expected) in new[] { (DateTime.Now.AddHours(-1), 60), (DateTime.Now.AddHours(1), 0) })
        {
            var count = 0;
            foreach (var range in await scene.Client.ReadPartitionKeyRangeFeedAsync(scene.Things))
            {
                var changes = scene.Client.CreateDocumentChangeFeedQuery(
                    scene.Things, new ChangeFeedOptions { PartitionKeyRangeId = range.Id, StartTime = start });
                while (changes.HasMoreResults) count += (await changes.ExecuteNextAsync<Document>()).Count;
            }
            Check.Equal(expected, count, "from " + start);
        }
    }
}
