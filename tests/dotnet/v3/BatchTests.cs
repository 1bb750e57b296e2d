// Transactional batches, which this SDK sends in binary form.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class BatchTests
{
    static readonly PartitionKey Key = new("p");

    static object Item(string id, int n = 1) => new { id, pk = "p", n };

    [Test]
    public static async Task DoAllKindsOfOperations(Scene scene)
    {
        var things = await scene.Spread();
        foreach (var id in new[] { "read", "replace", "patch", "delete" }) await things.CreateItemAsync(Item(id), Key);
        using var batch = await things.CreateTransactionalBatch(Key)
            .CreateItem(Item("create", 5))
            .ReadItem("read")
            .ReplaceItem("replace", Item("replace", 6))
            .UpsertItem(Item("upsert", 7))
            .PatchItem("patch", new[] { PatchOperation.Increment("/n", 7) })
            .DeleteItem("delete")
            .ExecuteAsync();
        Check.Equal(HttpStatusCode.OK, batch.StatusCode, batch.ErrorMessage);
        Check.Equal(new[] { 201, 200, 200, 201, 200, 204 }, batch.Select(result => (int)result.StatusCode));
        Check.Equal(5, batch.GetOperationResultAtIndex<JObject>(0).Resource["n"]);
        Check.Equal(1, batch.GetOperationResultAtIndex<JObject>(1).Resource["n"]);
        Check.True(batch.RequestCharge > 0 && batch[0].ETag != null, "charge and etag");
        Check.SameSet(
            new[] { "create 5", "read 1", "replace 6", "upsert 7", "patch 8" },
            await things.Rows("SELECT VALUE CONCAT(c.id, ' ', ToString(c.n)) FROM c"));
    }

    [Test]
    public static async Task FailAsAWhole(Scene scene)
    {
        var things = await scene.Container();
        await things.CreateItemAsync(Item("taken"), Key);
        using var batch = await things.CreateTransactionalBatch(Key)
            .CreateItem(Item("new"))
            .CreateItem(Item("taken"))
            .DeleteItem("taken")
            .ExecuteAsync();
        Check.True(!batch.IsSuccessStatusCode, "it failed");
        Check.Equal(HttpStatusCode.Conflict, batch.StatusCode);
        Check.Equal(new[] { 424, 409, 424 }, batch.Select(result => (int)result.StatusCode));
        Check.Equal(new[] { "taken" }, await things.Rows("SELECT VALUE c.id FROM c"));
    }

    [Test]
    public static async Task ObeyConditions(Scene scene)
    {
        var things = await scene.Container();
        var etag = (await things.CreateItemAsync(Item("1"), Key)).ETag;
        using var stale = await things.CreateTransactionalBatch(Key)
            .ReplaceItem("1", Item("1", 2), new TransactionalBatchItemRequestOptions { IfMatchEtag = "\"stale\"" })
            .ExecuteAsync();
        Check.Equal(HttpStatusCode.PreconditionFailed, stale.StatusCode);
        using var unchanged = await things.CreateTransactionalBatch(Key)
            .ReadItem("1", new TransactionalBatchItemRequestOptions { IfNoneMatchEtag = etag })
            .ReadItem("1")
            .ExecuteAsync();
        Check.Equal(207, (int)unchanged.StatusCode, "an operation that answers 304");
        Check.Equal(304, (int)unchanged[0].StatusCode);
    }

    [Test]
    public static async Task RenameDocuments(Scene scene)
    {
        var things = await scene.Container();
        await things.CreateItemAsync(Item("old"), Key);
        using var batch = await things.CreateTransactionalBatch(Key).ReplaceItem("old", Item("new")).ReadItem("new").ExecuteAsync();
        Check.Equal(HttpStatusCode.OK, batch.StatusCode, batch.ErrorMessage);
        Check.Equal(new[] { "new" }, await things.Rows("SELECT VALUE c.id FROM c"));
    }

    [Test]
    public static async Task AreRefusedForAnotherKey(Scene scene)
    {
        var things = await scene.Container();
        using var batch = await things.CreateTransactionalBatch(Key).CreateItem(new { id = "1", pk = "other" }).ExecuteAsync();
        Check.Equal(HttpStatusCode.BadRequest, batch.StatusCode);
        Check.Equal(0, (await things.Rows("SELECT * FROM c")).Count);
    }
}
