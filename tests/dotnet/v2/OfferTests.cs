// Offers: the throughput of collections, and keeping to it.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;

public static class OfferTests
{
    static OfferV2 OfferOf(Scene scene, DocumentCollection collection)
    {
        return (OfferV2)scene.Client.CreateOfferQuery().Where(offer => offer.ResourceLink == collection.SelfLink).AsEnumerable().Single();
    }

    [Test]
    public static async Task AreReadAndReplaced(Scene scene)
    {
        var collection = await scene.Collection(throughput: 25_000);
        Check.Equal(3, (await scene.Client.ReadPartitionKeyRangeFeedAsync(scene.Things)).Count, "partitions");
        var offer = OfferOf(scene, collection);
        Check.Equal(25_000, offer.Content.OfferThroughput);
        await scene.Client.ReplaceOfferAsync(new OfferV2(offer, 24_000));
        Check.Equal(24_000, OfferOf(scene, collection).Content.OfferThroughput);
        Check.Equal(24_000, ((OfferV2)(await scene.Client.ReadOfferAsync(offer.SelfLink)).Resource).Content.OfferThroughput);
        var feed = await scene.Client.ReadOffersFeedAsync();
        Check.True(feed.Any(found => found.ResourceLink == collection.SelfLink), "it is in the feed");
    }

    [Test]
    public static async Task MayBeShared(Scene scene)
    {
        var name = scene.Database + "-shared";
        await scene.Client.CreateDatabaseAsync(new Database { Id = name }, new RequestOptions { OfferThroughput = 1000 });
        try
        {
            var created = await scene.Client.CreateDocumentCollectionAsync(
                UriFactory.CreateDatabaseUri(name),
                new DocumentCollection { Id = "one", PartitionKey = new PartitionKeyDefinition { Paths = { "/pk" } } });
            Check.Equal("true", created.ResponseHeaders["x-ms-share-throughput"]);
        }
        finally
        {
            await scene.Client.DeleteDatabaseAsync(UriFactory.CreateDatabaseUri(name));
        }
    }

    [Test]
    public static async Task QuotasAreTold(Scene scene)
    {
        await scene.Collection();
        var read = await scene.Client.ReadDocumentCollectionAsync(scene.Things, new RequestOptions { PopulateQuotaInfo = true });
        Check.True(read.CollectionSizeQuota > 0, "room for documents");
        Check.Equal(100L, read.IndexTransformationProgress);
        var written = await scene.Client.CreateDocumentAsync(scene.Things, new { id = "1", pk = "p" });
        Check.True(written.CollectionSizeQuota > 0, "with a document, too");
    }

    [Test]
    public static async Task ThrottledWritersGetThrough(Scene scene)
    {
        await using var server = await Server.Start();
        using var client = Suite.Connect(server.Endpoint, mostRetries: 0);
        await client.CreateDatabaseAsync(new Database { Id = "db" });
        await client.CreateDocumentCollectionAsync(
            UriFactory.CreateDatabaseUri("db"),
            new DocumentCollection { Id = "things", PartitionKey = new PartitionKeyDefinition { Paths = { "/pk" } } },
            new RequestOptions { OfferThroughput = 1000 });
        var things = UriFactory.CreateDocumentCollectionUri("db", "things");

        // Creates a document without an id, for which the SDK makes a new one each time. Gives the advised wait, or null.
        async Task<TimeSpan?> Refusal(object document)
        {
            try
            {
                await client.CreateDocumentAsync(things, document);
                return null;
            }
            catch (DocumentClientException error) when ((int)error.StatusCode == 429)
            {
                return error.RetryAfter;
            }
        }

        var small = new { pk = "p" };
        for (var round = 0; round < 3; round++)
        {
            // Spend what there is, and be refused many times.
            while (await Refusal(new { pk = "p", text = new string('x', 20_000) }) == null) { }
            await Task.WhenAll(Enumerable.Range(0, 40).Select(_ => Refusal(small)));
            var refusals = 0;
            while (await Refusal(small) is { } wait)
            {
                Check.True(++refusals <= 2, "the advised wait is enough");
                await Task.Delay(wait);
            }
        }
    }
}
