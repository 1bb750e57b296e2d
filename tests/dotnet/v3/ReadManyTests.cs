// Read many: documents by id and key, in as few requests as there are ranges.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class ReadManyTests
{
    [Test]
    public static async Task GivesTheDocumentsThatAreThere(Scene scene)
    {
        var container = await Library.Fill(await scene.Spread());
        var wanted = Enumerable.Range(0, 60).Select(n => ("d" + n, new PartitionKey("p" + n % 15))).ToList();
        wanted.Add(("absent", new PartitionKey("p1")));
        wanted.Add(("d3", new PartitionKey("p4")));
        var found = await container.ReadManyItemsAsync<JObject>(wanted);
        Check.Equal(HttpStatusCode.OK, found.StatusCode);
        Check.SameSet(Enumerable.Range(0, 60), found.Select(document => document["n"]));
        using var stream = await container.ReadManyItemsStreamAsync(wanted.Take(3).ToList());
        var body = JObject.Parse(await new StreamReader(stream.Content).ReadToEndAsync());
        Check.SameSet(new[] { 0, 1, 2 }, body["Documents"].Select(document => document["n"]));
    }

    [Test]
    public static async Task FindsDocumentsByIdAlone(Scene scene)
    {
        var container = await scene.Spread(new ContainerProperties("things", "/id"));
        var ids = Enumerable.Range(0, 30).Select(n => "id " + n).ToList();
        await Task.WhenAll(ids.Select(id => container.CreateItemAsync(new { id }, new PartitionKey(id))));
        var found = await container.ReadManyItemsAsync<JObject>(ids.Select(id => (id, new PartitionKey(id))).ToList());
        Check.SameSet(ids, found.Select(document => document["id"]));
    }
}
