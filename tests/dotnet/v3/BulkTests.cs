// Bulk mode: single operations that the SDK gathers into requests for each physical partition.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class BulkTests
{
    [Test]
    public static async Task DoesManyOperations(Scene scene)
    {
        await scene.Spread();
        using var client = Suite.Connect(Suite.Endpoint, options => options.AllowBulkExecution = true);
        var things = client.GetContainer(scene.Database.Id, "things");
        var numbers = Enumerable.Range(0, 300).ToList();

        static PartitionKey Key(int n) => new("p" + n % 20);
        static JObject Item(int n, int version) => new() { ["id"] = "i" + n, ["pk"] = "p" + n % 20, ["version"] = version };

        var created = await Task.WhenAll(numbers.Select(n => things.CreateItemAsync(Item(n, 1), Key(n))));
        Check.True(created.All(answer => answer.StatusCode == HttpStatusCode.Created && answer.RequestCharge > 0), "all were created");
        var conflicts = await Task.WhenAll(numbers.Take(30).Select(
            n => Suite.Fails(HttpStatusCode.Conflict, () => things.CreateItemAsync(Item(n, 2), Key(n)))));
        Check.Equal(30, conflicts.Length);
        var work = numbers.Select(async n =>
        {
            switch (n % 5)
            {
                case 0:
                    await things.ReplaceItemAsync(Item(n, 3), "i" + n, Key(n));
                    break;
                case 1:
                    await things.UpsertItemAsync(Item(n, 4), Key(n));
                    break;
                case 2:
                    await things.PatchItemAsync<JObject>("i" + n, Key(n), new[] { PatchOperation.Set("/version", 5) });
                    break;
                case 3:
                    await things.DeleteItemAsync<JObject>("i" + n, Key(n));
                    break;
                default:
                    Check.Equal(1, (await things.ReadItemAsync<JObject>("i" + n, Key(n))).Resource["version"]);
                    break;
            }
        });
        await Task.WhenAll(work);
        var versions = await things.Rows("SELECT c.version, COUNT(1) AS documents FROM c GROUP BY c.version");
        Check.SameSet(new[] { 1, 3, 4, 5 }.Select(version => new { version, documents = 60 }), versions);
    }
}
