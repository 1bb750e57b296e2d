// The change feed processor: leases in a container, workers that share the ranges, estimators.
using System.Collections.Concurrent;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class ProcessorTests
{
    static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(100);

    static ChangeFeedProcessor Worker(Container monitored, Container leases, string name, ConcurrentBag<JObject> seen)
    {
        return monitored
            .GetChangeFeedProcessorBuilder<JObject>("copier", (context, changes, cancel) =>
            {
                foreach (var change in changes) seen.Add(change);
                return Task.CompletedTask;
            })
            .WithInstanceName(name)
            .WithLeaseContainer(leases)
            .WithPollInterval(Poll)
            .WithStartTime(DateTime.MinValue.ToUniversalTime())
            .Build();
    }

    /// <summary>Waits for what must come; the runner's limit ends it if it does not.</summary>
    static async Task Until(Func<bool> holds)
    {
        while (!holds()) await Task.Delay(50);
    }

    static int Different(ConcurrentBag<JObject> seen) => seen.Select(change => (int)change["n"]).Distinct().Count();

    [Test]
    public static async Task SeesEveryChangeAndGoesOn(Scene scene)
    {
        var monitored = await Library.Fill(await scene.Spread(), Library.Documents.Take(40));
        var leases = await scene.Container("/id", "leases");
        var first = new ConcurrentBag<JObject>();
        var worker = Worker(monitored, leases, "first", first);
        await worker.StartAsync();
        await Until(() => Different(first) == 40);
        await Library.Fill(monitored, Library.Documents.Skip(40).Take(20));
        await Until(() => Different(first) == 60);
        await worker.StopAsync();

        await Library.Fill(monitored, Library.Documents.Skip(60));
        var second = new ConcurrentBag<JObject>();
        var successor = Worker(monitored, leases, "second", second);
        await successor.StartAsync();
        await Until(() => Enumerable.Range(60, 30).All(n => second.Any(change => (int)change["n"] == n)));
        await successor.StopAsync();
        Check.True(!second.Any(change => (int)change["n"] < 40), "what was checkpointed does not come again");
        Check.Equal(3, (await leases.Rows("SELECT * FROM c WHERE IS_DEFINED(c.LeaseToken)")).Count, "a lease for each range");
    }

    [Test]
    public static async Task CheckpointsByHandAndEstimates(Scene scene)
    {
        var monitored = await Library.Fill(await scene.Spread(), Library.Documents.Take(30));
        var leases = await scene.Container("/id", "leases");
        var seen = new ConcurrentBag<JObject>();
        var worker = monitored
            .GetChangeFeedProcessorBuilderWithManualCheckpoint<JObject>("copier", async (context, changes, checkpoint, cancel) =>
            {
                foreach (var change in changes) seen.Add(change);
                await checkpoint();
            })
            .WithInstanceName("only")
            .WithLeaseContainer(leases)
            .WithPollInterval(Poll)
            .WithStartTime(DateTime.MinValue.ToUniversalTime())
            .Build();
        await worker.StartAsync();
        await Until(() => Different(seen) == 30);
        await worker.StopAsync();

        var estimator = monitored.GetChangeFeedEstimator("copier", leases);
        var idle = await estimator.GetCurrentStateIterator().All();
        Check.Equal(3, idle.Count, "states");
        Check.Equal(0, idle.Sum(state => state.EstimatedLag), "nothing to do");
        await Library.Fill(monitored, Library.Documents.Skip(30).Take(25));
        var behind = await estimator.GetCurrentStateIterator().All();
        Check.Equal(25, behind.Sum(state => state.EstimatedLag), "changes to come");
    }
}
