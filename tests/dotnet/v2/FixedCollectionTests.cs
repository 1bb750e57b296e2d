// Collections without a partition key, as they were made in 2015.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;
using Newtonsoft.Json.Linq;

public static class FixedCollectionTests
{
    [Test]
    public static async Task HaveNoKey(Scene scene)
    {
        var collection = await scene.Collection(path: null, throughput: 400);
        Check.Equal(0, collection.PartitionKey.Paths.Count, "no key is shown");
        var read = await scene.Client.ReadDocumentCollectionAsync(scene.Things);
        Check.Equal(0, read.Resource.PartitionKey.Paths.Count, "when it is read, either");
    }

    [Test]
    public static async Task HoldDocuments(Scene scene)
    {
        await scene.Collection(path: null, throughput: 400);
        await scene.Fill();
        var document = (await scene.Client.ReadDocumentAsync(scene.Document("d3"))).Resource;
        Check.Equal(3, document.GetPropertyValue<int>("n"));
        document.SetPropertyValue("n", 300);
        await scene.Client.ReplaceDocumentAsync(document);
        await scene.Client.UpsertDocumentAsync(scene.Things, new { id = "d4", n = 400 });
        await scene.Client.DeleteDocumentAsync(scene.Document("d5"));
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadDocumentAsync(scene.Document("d5")));
        Check.Equal(
            new[] { 400, 300, 59 },
            await scene.Client.CreateDocumentQuery(scene.Things, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC").Rows());
        Check.Equal(59, scene.Client.CreateDocumentQuery<JObject>(scene.Things).ToList().Count);
    }

    [Test]
    public static async Task RunScripts(Scene scene)
    {
        await scene.Collection(path: null, throughput: 400);
        await scene.Client.CreateStoredProcedureAsync(scene.Things, new StoredProcedure
        {
            Id = "add",
            Body = """
                function add(n) {
                    const collection = getContext().getCollection();
                    collection.createDocument(collection.getSelfLink(), { id: 'made', n: n }, function (error, created) {
                        if (error) throw error;
                        getContext().getResponse().setBody(created.id);
                    });
                }
                """,
        });
        var link = UriFactory.CreateStoredProcedureUri(scene.Database, "things", "add");
        Check.Equal("made", (await scene.Client.ExecuteStoredProcedureAsync<string>(link, 7)).Response);
        Check.Equal(7, (await scene.Client.ReadDocumentAsync(scene.Document("made"))).Resource.GetPropertyValue<int>("n"));
    }
}
