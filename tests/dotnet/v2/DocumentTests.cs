// Documents: create, read, replace, upsert, delete, feeds, conditions.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Newtonsoft.Json.Linq;

public static class DocumentTests
{
    public class Family
    {
        [Newtonsoft.Json.JsonProperty("id")]
        public string Id { get; set; }

        [Newtonsoft.Json.JsonProperty("pk")]
        public string Key { get; set; }

        public int Children { get; set; }
    }

    [Test]
    public static async Task LiveTheirLife(Scene scene)
    {
        await scene.Collection();
        var created = await scene.Client.CreateDocumentAsync(scene.Things, new Family { Id = "1", Key = "a", Children = 2 });
        Check.Equal(HttpStatusCode.Created, created.StatusCode);
        Check.True(created.RequestCharge > 0 && created.Resource.ETag != null, "charge and etag");
        await Suite.Fails(HttpStatusCode.Conflict, () => scene.Client.CreateDocumentAsync(scene.Things, new Family { Id = "1", Key = "a" }));

        var read = await scene.Client.ReadDocumentAsync<Family>(scene.Document("1"), Suite.In("a"));
        Check.Equal(2, read.Document.Children);
        var bySelfLink = await scene.Client.ReadDocumentAsync(created.Resource.SelfLink, Suite.In("a"));
        Check.Equal(2, bySelfLink.Resource.GetPropertyValue<int>("Children"));

        await scene.Client.ReplaceDocumentAsync(scene.Document("1"), new Family { Id = "1", Key = "a", Children = 3 });
        Document document = bySelfLink.Resource;
        document.SetPropertyValue("Children", 4);
        await scene.Client.ReplaceDocumentAsync(document);
        await scene.Client.UpsertDocumentAsync(scene.Things, new Family { Id = "2", Key = "b", Children = 9 });
        var noId = await scene.Client.CreateDocumentAsync(scene.Things, new { pk = "c" });
        Check.True(Guid.TryParse(noId.Resource.Id, out _), "the SDK makes an id");

        await scene.Client.DeleteDocumentAsync(scene.Document("1"), Suite.In("a"));
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadDocumentAsync(scene.Document("1"), Suite.In("a")));
    }

    [Test]
    public static async Task HaveConditions(Scene scene)
    {
        await scene.Collection();
        var first = await scene.Client.CreateDocumentAsync(scene.Things, new Family { Id = "1", Key = "a" });
        await scene.Client.ReplaceDocumentAsync(scene.Document("1"), new Family { Id = "1", Key = "a", Children = 1 });
        var stale = new AccessCondition { Type = AccessConditionType.IfMatch, Condition = first.Resource.ETag };
        await Suite.Fails(
            HttpStatusCode.PreconditionFailed,
            () => scene.Client.ReplaceDocumentAsync(
                scene.Document("1"), new Family { Id = "1", Key = "a", Children = 2 }, new RequestOptions { AccessCondition = stale }));
        var now = await scene.Client.ReadDocumentAsync(scene.Document("1"), Suite.In("a"));
        var known = new AccessCondition { Type = AccessConditionType.IfNoneMatch, Condition = now.Resource.ETag };
        var unchanged = await scene.Client.ReadDocumentAsync(scene.Document("1"), Suite.In("a", options => options.AccessCondition = known));
        Check.Equal(HttpStatusCode.NotModified, unchanged.StatusCode);
    }

    [Test]
    public static async Task AreRenamedByReplace(Scene scene)
    {
        await scene.Collection();
        await scene.Client.CreateDocumentAsync(scene.Things, new Family { Id = "old", Key = "a", Children = 5 });
        await scene.Client.ReplaceDocumentAsync(scene.Document("old"), new Family { Id = "new", Key = "a", Children = 5 }, Suite.In("a"));
        Check.Equal(5, (await scene.Client.ReadDocumentAsync<Family>(scene.Document("new"), Suite.In("a"))).Document.Children);
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadDocumentAsync(scene.Document("old"), Suite.In("a")));
    }

    [Test]
    public static async Task AreListedPageByPage(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        var seen = new List<int>();
        string token = null;
        do
        {
            var page = await scene.Client.ReadDocumentFeedAsync(scene.Things, new FeedOptions { MaxItemCount = 7, RequestContinuation = token });
            Check.True(page.Count <= 7, "a page");
            foreach (dynamic document in page) seen.Add((int)document.n);
            token = page.ResponseContinuation;
        }
        while (!string.IsNullOrEmpty(token) && seen.Count <= 60);
        Check.SameSet(Enumerable.Range(0, 60), seen);
    }

    [Test]
    public static async Task AreListedByRange(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        var ranges = await scene.Client.ReadPartitionKeyRangeFeedAsync(scene.Things);
        Check.Equal(3, ranges.Count);
        var seen = new List<JToken>();
        foreach (var range in ranges)
            seen.AddRange(await scene.Client.CreateDocumentQuery(
                scene.Things, "SELECT VALUE c.n FROM c", new FeedOptions { PartitionKeyRangeId = range.Id }).Rows());
        Check.SameSet(Enumerable.Range(0, 60), seen);
    }
}
