// Throughput: manual, autoscale, shared by a database; and how many partitions it makes.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class ThroughputTests
{
    [Test]
    public static async Task IsManual(Scene scene)
    {
        Container things = await scene.Database.CreateContainerAsync("things", "/pk", 25_000);
        Check.Equal(25_000, await things.ReadThroughputAsync());
        Check.Equal(3, (await things.GetFeedRangesAsync()).Count, "partitions");
        var details = await things.ReadThroughputAsync(new RequestOptions());
        Check.True(details.MinThroughput >= 400, "a minimum");
        Check.Equal(false, details.IsReplacePending);
        await things.ReplaceThroughputAsync(20_000);
        Check.Equal(20_000, await things.ReadThroughputAsync());
        await Suite.Fails(HttpStatusCode.BadRequest, () => things.ReplaceThroughputAsync(450_050));
        await Suite.Fails(HttpStatusCode.BadRequest, () => scene.Database.CreateContainerAsync("little", "/pk", 100));
    }

    [Test]
    public static async Task IsAutoscale(Scene scene)
    {
        Container things = await scene.Database.CreateContainerAsync(
            new ContainerProperties("things", "/pk"), ThroughputProperties.CreateAutoscaleThroughput(4000));
        var read = await things.ReadThroughputAsync(new RequestOptions());
        Check.Equal(4000, read.Resource.AutoscaleMaxThroughput);
        var replaced = await things.ReplaceThroughputAsync(ThroughputProperties.CreateAutoscaleThroughput(6000));
        Check.Equal(6000, replaced.Resource.AutoscaleMaxThroughput);
    }

    [Test]
    public static async Task IsSharedByADatabase(Scene scene)
    {
        Database shared = await scene.Client.CreateDatabaseAsync(scene.Database.Id + "-shared", 1000);
        try
        {
            Check.Equal(1000, await shared.ReadThroughputAsync());
            var created = await shared.CreateContainerAsync("one", "/pk");
            Check.Equal("true", created.Headers["x-ms-share-throughput"]);
            Check.Equal("true", (await created.Container.ReadContainerAsync()).Headers["x-ms-share-throughput"]);
            Check.Equal(null, await created.Container.ReadThroughputAsync(), "of its own");
            await Suite.Fails(HttpStatusCode.NotFound, () => created.Container.ReadThroughputAsync(new RequestOptions()));
            Container own = await shared.CreateContainerAsync("own", "/pk", 500);
            Check.Equal(500, await own.ReadThroughputAsync());
            await shared.ReplaceThroughputAsync(1200);
            Check.Equal(1200, await shared.ReadThroughputAsync());
            await created.Container.CreateItemAsync(new { id = "1", pk = "p" });
        }
        finally
        {
            await shared.DeleteAsync();
        }
    }

    [Test]
    public static async Task IsKeptToByWriters(Scene scene)
    {
        await using var server = await Server.Start();
        using var client = Suite.Connect(server.Endpoint, options => options.MaxRetryAttemptsOnRateLimitedRequests = 0);
        using var patient = Suite.Connect(server.Endpoint);
        Database database = await client.CreateDatabaseAsync("db");
        Container things = await database.CreateContainerAsync("things", "/pk", 400);
        CosmosException refused = null;
        for (var i = 0; refused == null; i++)
        {
            try
            {
                await things.CreateItemAsync(new { id = "i" + i, pk = "p" });
            }
            catch (CosmosException error) when (error.StatusCode == HttpStatusCode.TooManyRequests)
            {
                refused = error;
            }
        }
        Check.True(refused.RetryAfter > TimeSpan.Zero, "an advice how long to wait");
        // Those who do as they are told get through, also side by side and with a new id for each try.
        var same = patient.GetContainer("db", "things");
        await Task.WhenAll(Enumerable.Range(0, 60).Select(i => same.CreateItemAsync(new { id = "j" + i, pk = "p" })));
        Check.Equal(60, (await same.Rows("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'j')")).Count);
    }
}
