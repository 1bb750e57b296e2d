// All versions and deletes: every change, not only the latest of each document.
using System.Collections.Concurrent;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class AllVersionsTests
{
    static readonly PartitionKey Key = new("p");

    static async Task<Container> Keeping(Scene scene)
    {
        return await scene.Database.CreateContainerAsync(new ContainerProperties("things", "/pk")
        {
            DefaultTimeToLive = -1,
            ChangeFeedPolicy = new ChangeFeedPolicy { FullFidelityRetention = TimeSpan.FromMinutes(10) },
        });
    }

    static async Task Change(Container things)
    {
        await things.CreateItemAsync(new { id = "1", pk = "p", n = 1 }, Key);
        await things.ReplaceItemAsync(new { id = "1", pk = "p", n = 2 }, "1", Key);
        await things.UpsertItemAsync(new { id = "1", pk = "p", n = 3 }, Key);
        await things.DeleteItemAsync<JObject>("1", Key);
        await things.CreateItemAsync(new { id = "2", pk = "p", n = 4 }, Key);
    }

    [Test]
    public static async Task ArePulled(Scene scene)
    {
        var things = await Keeping(scene);
        var now = things.GetChangeFeedIterator<ChangeFeedItem<JObject>>(ChangeFeedStartFrom.Now(), ChangeFeedMode.AllVersionsAndDeletes);
        var start = await now.ReadNextAsync();
        Check.Equal(HttpStatusCode.NotModified, start.StatusCode);
        await Change(things);
        var changes = await ChangeFeedTests.Drain(things.GetChangeFeedIterator<ChangeFeedItem<JObject>>(
            ChangeFeedStartFrom.ContinuationToken(start.ContinuationToken), ChangeFeedMode.AllVersionsAndDeletes));
        Check.Equal(
            new[] { "Create", "Replace", "Replace", "Delete", "Create" },
            changes.Select(change => change.Metadata.OperationType.ToString()));
        Check.Equal(new int?[] { 1, 2, 3, null, 4 }, changes.Select(change => (int?)change.Current?["n"]));
        Check.Equal(3, changes[3].Previous?["n"], "what was deleted");
        Check.True(changes[1].Previous == null, "a replace does not bring what it replaced");
        Check.Equal(changes[0].Metadata.Lsn, changes[1].Metadata.PreviousLsn, "but says which version it was");
        Check.Equal(changes.Select(change => change.Metadata.Lsn).OrderBy(lsn => lsn), changes.Select(change => change.Metadata.Lsn));
        Check.Equal(5, (await ChangeFeedTests.Drain(now)).Count, "the first iterator goes on, too");
    }

    [Test]
    public static async Task TellOfExpiry(Scene scene)
    {
        var things = await Keeping(scene);
        var changes = things.GetChangeFeedIterator<ChangeFeedItem<JObject>>(ChangeFeedStartFrom.Now(), ChangeFeedMode.AllVersionsAndDeletes);
        await changes.ReadNextAsync();
        await things.CreateItemAsync(new { id = "1", pk = "p", ttl = 1 }, Key);
        var seen = new List<ChangeFeedItem<JObject>>();
        while (seen.Count < 2)
        {
            seen.AddRange(await ChangeFeedTests.Drain(changes));
            await Task.Delay(100);
        }
        Check.Equal(ChangeFeedOperationType.Delete, seen[1].Metadata.OperationType);
        Check.True(seen[1].Metadata.IsTimeToLiveExpired, "because of its time to live");
    }

    [Test]
    public static async Task CannotBeReadFromTheBeginning(Scene scene)
    {
        var things = await Keeping(scene);
        var changes = things.GetChangeFeedStreamIterator(ChangeFeedStartFrom.Beginning(), ChangeFeedMode.AllVersionsAndDeletes);
        using var refused = await changes.ReadNextAsync();
        Check.Equal(HttpStatusCode.BadRequest, refused.StatusCode);
        Check.Contains("You must read the change feed from within the retention period.", refused.ErrorMessage);
    }

    [Test]
    public static async Task AreProcessed(Scene scene)
    {
        var things = await Keeping(scene);
        var leases = await scene.Container("/id", "leases");
        var seen = new ConcurrentQueue<ChangeFeedItem<JObject>>();
        var worker = things
            .GetChangeFeedProcessorBuilderWithAllVersionsAndDeletes<JObject>("auditor", (context, changes, cancel) =>
            {
                foreach (var change in changes) seen.Enqueue(change);
                return Task.CompletedTask;
            })
            .WithInstanceName("only")
            .WithLeaseContainer(leases)
            .WithPollInterval(TimeSpan.FromMilliseconds(100))
            .Build();
        await worker.StartAsync();
        // It begins with what comes after its first look.
        while (seen.IsEmpty)
        {
            await things.UpsertItemAsync(new { id = "0", pk = "p" }, Key);
            await Task.Delay(100);
        }
        await Change(things);
        while (!seen.Any(change => (string)change.Current?["id"] == "2")) await Task.Delay(50);
        await worker.StopAsync();
        var kinds = seen.Where(change => change.Metadata.OperationType == ChangeFeedOperationType.Delete || (string)change.Current["id"] != "0");
        Check.Equal(
            new[] { "Create", "Replace", "Replace", "Delete", "Create" },
            kinds.Select(change => change.Metadata.OperationType.ToString()));
    }

    [Test]
    public static async Task AreKeptByASettingOfTheServer(Scene scene)
    {
        await using var server = await Server.Start("--all-versions-retention", "1h");
        using var client = Suite.Connect(server.Endpoint);
        Database database = await client.CreateDatabaseAsync("db");
        Container things = await database.CreateContainerAsync("ordinary", "/pk");
        var changes = things.GetChangeFeedIterator<ChangeFeedItem<JObject>>(ChangeFeedStartFrom.Now(), ChangeFeedMode.AllVersionsAndDeletes);
        await changes.ReadNextAsync();
        await Change(things);
        Check.Equal(5, (await ChangeFeedTests.Drain(changes)).Count);
    }
}
