// Sessions: a client reads what it wrote, whichever ranges it has touched.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Newtonsoft.Json.Linq;

public static class SessionTests
{
    [Test]
    public static async Task SpanPartitions(Scene scene)
    {
        await scene.Collection();
        using var client = Suite.Connect(Suite.Endpoint);
        for (var round = 0; round < 4; round++)
        {
            foreach (var document in Scene.Documents.Take(20)) await client.UpsertDocumentAsync(scene.Things, document);
            // Answers that come from several ranges at once.
            Check.Equal(new[] { 20 }, await client.CreateDocumentQuery(
                scene.Things, "SELECT VALUE COUNT(1) FROM c", new FeedOptions { EnableCrossPartitionQuery = true }).Rows());
            var feed = await client.ReadDocumentFeedAsync(scene.Things, new FeedOptions { MaxItemCount = -1 });
            Check.True(feed.SessionToken == null || !feed.SessionToken.Contains(','), "a token of one range: " + feed.SessionToken);
            foreach (var document in Scene.Documents.Take(20))
                await client.ReadDocumentAsync(scene.Document((string)document["id"]), Suite.In((string)document["pk"]));
        }
    }

    [Test]
    public static async Task EndWithTheirCollection(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        using var other = Suite.Connect(Suite.Endpoint);
        await other.DeleteDocumentCollectionAsync(scene.Things);
        await other.CreateDocumentCollectionAsync(
            scene.DatabaseLink, new DocumentCollection { Id = "things", PartitionKey = new PartitionKeyDefinition { Paths = { "/pk" } } });
        await other.CreateDocumentAsync(scene.Things, new { id = "new", pk = "p1" });
        Check.Equal("new", (await scene.Client.ReadDocumentAsync(scene.Document("new"), Suite.In("p1"))).Resource.Id);
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadDocumentAsync(scene.Document("d1"), Suite.In("p1")));
    }

    [Test]
    public static async Task ArePassedOn(Scene scene)
    {
        await scene.Collection();
        using var other = Suite.Connect(Suite.Endpoint);
        foreach (var document in Scene.Documents.Take(12))
        {
            var written = await scene.Client.CreateDocumentAsync(scene.Things, document);
            var options = Suite.In((string)document["pk"], options => options.SessionToken = written.SessionToken);
            var read = await other.ReadDocumentAsync(scene.Document(written.Resource.Id), options);
            Check.Equal(document["n"], read.Resource.GetPropertyValue<int>("n"));
        }
    }
}
