// Stored procedures, triggers, user-defined functions.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Newtonsoft.Json.Linq;

public static class ScriptTests
{
    static Uri Procedure(Scene scene, string id) => UriFactory.CreateStoredProcedureUri(scene.Database, "things", id);

    [Test]
    public static async Task ProceduresImportInBulk(Scene scene)
    {
        await scene.Collection();
        await scene.Client.CreateStoredProcedureAsync(scene.Things, new StoredProcedure
        {
            Id = "import",
            Body = """
                function (documents) {
                    var context = getContext(), collection = context.getCollection(), link = collection.getSelfLink(), count = 0;
                    next();
                    function next() {
                        if (count == documents.length) return context.getResponse().setBody(count);
                        var accepted = collection.createDocument(link, documents[count], function (error) {
                            if (error) throw error;
                            count++;
                            next();
                        });
                        if (!accepted) context.getResponse().setBody(count);
                    }
                }
                """,
        });
        var documents = Enumerable.Range(0, 30).Select(n => new { id = "d" + n, pk = "p", n }).ToArray();
        var answer = await scene.Client.ExecuteStoredProcedureAsync<int>(Procedure(scene, "import"), Suite.In("p"), new object[] { documents });
        Check.Equal(30, answer.Response);
        // The whole procedure is one transaction: the last document is already there.
        var again = documents.Skip(29).Prepend(new { id = "other", pk = "p", n = 99 }).ToArray();
        await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => scene.Client.ExecuteStoredProcedureAsync<int>(Procedure(scene, "import"), Suite.In("p"), new object[] { again }));
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadDocumentAsync(scene.Document("other"), Suite.In("p")));
    }

    [Test]
    public static async Task ProceduresFindAndRemove(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        await scene.Client.CreateStoredProcedureAsync(scene.Things, new StoredProcedure
        {
            Id = "remove",
            Body = """
                function remove(least) {
                    var collection = getContext().getCollection(), removed = 0;
                    var query = { query: 'SELECT * FROM c WHERE c.n >= @least', parameters: [{ name: '@least', value: least }] };
                    collection.queryDocuments(collection.getSelfLink(), query, function (error, found) {
                        if (error) throw error;
                        found.forEach(function (document) {
                            collection.deleteDocument(document._self, { etag: document._etag }, function (error) {
                                if (error) throw error;
                                removed++;
                                getContext().getResponse().setBody({ removed: removed });
                            });
                        });
                    });
                }
                """,
        });
        var answer = await scene.Client.ExecuteStoredProcedureAsync<JObject>(Procedure(scene, "remove"), Suite.In("p3"), 30);
        Check.Equal(new { removed = 3 }, answer.Response);
        Check.SameSet(new[] { 3, 13, 23 }, await scene.Client.CreateDocumentQuery(
            scene.Things, "SELECT VALUE c.n FROM c", new FeedOptions { PartitionKey = new PartitionKey("p3") }).Rows());
    }

    [Test]
    public static async Task ProceduresLog(Scene scene)
    {
        await scene.Collection();
        await scene.Client.CreateStoredProcedureAsync(
            scene.Things, new StoredProcedure { Id = "say", Body = "function say(what) { console.log('said ' + what); }" });
        var answer = await scene.Client.ExecuteStoredProcedureAsync<object>(
            Procedure(scene, "say"), Suite.In("p", options => options.EnableScriptLogging = true), "ü & more");
        Check.Equal("said ü & more", Uri.UnescapeDataString(answer.ScriptLog));
    }

    [Test]
    public static async Task TriggersRunAroundWrites(Scene scene)
    {
        await scene.Collection();
        await scene.Client.CreateTriggerAsync(scene.Things, new Trigger
        {
            Id = "canonicalize",
            TriggerType = TriggerType.Pre,
            TriggerOperation = TriggerOperation.Create,
            Body = """
                function () {
                    var request = getContext().getRequest(), document = request.getBody();
                    document.name = document.name.toLowerCase();
                    request.setBody(document);
                }
                """,
        });
        await scene.Client.CreateTriggerAsync(scene.Things, new Trigger
        {
            Id = "count",
            TriggerType = TriggerType.Post,
            TriggerOperation = TriggerOperation.All,
            Body = """
                function () {
                    var collection = getContext().getCollection(), created = getContext().getResponse().getBody();
                    collection.upsertDocument(collection.getSelfLink(), { id: 'last', pk: created.pk, of: created.id }, function (error) {
                        if (error) throw error;
                    });
                }
                """,
        });
        var options = new RequestOptions { PreTriggerInclude = new[] { "canonicalize" }, PostTriggerInclude = new[] { "count" } };
        var created = await scene.Client.CreateDocumentAsync(scene.Things, new { id = "1", pk = "p", name = "ADA" }, options);
        Check.Equal("ada", created.Resource.GetPropertyValue<string>("name"));
        Check.Equal("1", (await scene.Client.ReadDocumentAsync(scene.Document("last"), Suite.In("p"))).Resource.GetPropertyValue<string>("of"));
        await Suite.Fails(HttpStatusCode.BadRequest, () => scene.Client.ReplaceDocumentAsync(
            scene.Document("1"), new { id = "1", pk = "p", name = "BOB" }, new RequestOptions { PreTriggerInclude = new[] { "canonicalize" } }));
    }

    [Test]
    public static async Task FunctionsAreCalledInQueries(Scene scene)
    {
        await scene.Collection();
        await scene.Fill();
        await scene.Client.CreateUserDefinedFunctionAsync(
            scene.Things, new UserDefinedFunction { Id = "odd", Body = "function odd(n) { return n % 2 == 1; }" });
        Check.SameSet(
            Enumerable.Range(0, 60).Where(n => n % 2 == 1),
            await scene.Client.CreateDocumentQuery(
                scene.Things, "SELECT VALUE c.n FROM c WHERE udf.odd(c.n)", new FeedOptions { EnableCrossPartitionQuery = true }).Rows());
    }

    [Test]
    public static async Task AreResources(Scene scene)
    {
        await scene.Collection();
        StoredProcedure procedure = await scene.Client.CreateStoredProcedureAsync(
            scene.Things, new StoredProcedure { Id = "a", Body = "function a() {}" });
        procedure.Body = "function b() {}";
        await scene.Client.ReplaceStoredProcedureAsync(procedure);
        Check.Equal("function b() {}", (await scene.Client.ReadStoredProcedureAsync(Procedure(scene, "a"))).Resource.Body);
        await scene.Client.UpsertStoredProcedureAsync(scene.Things, new StoredProcedure { Id = "b", Body = "function b() {}" });
        Check.SameSet(new[] { "a", "b" }, (await scene.Client.ReadStoredProcedureFeedAsync(scene.Things)).Select(found => found.Id));
        await scene.Client.DeleteStoredProcedureAsync(Procedure(scene, "a"));
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadStoredProcedureAsync(Procedure(scene, "a")));
    }
}
