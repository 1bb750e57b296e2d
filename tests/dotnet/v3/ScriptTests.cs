// Stored procedures, triggers, user-defined functions.
using System.Net;
using System.Text;
using Microsoft.Azure.Cosmos;
using Microsoft.Azure.Cosmos.Scripts;
using Newtonsoft.Json.Linq;

public static class ScriptTests
{
    static readonly PartitionKey Key = new("p");

    static Task Procedure(Container container, string id, string body)
    {
        return container.Scripts.CreateStoredProcedureAsync(new StoredProcedureProperties(id, body));
    }

    static Task Trigger(Container container, string id, TriggerType type, TriggerOperation operation, string body)
    {
        return container.Scripts.CreateTriggerAsync(
            new TriggerProperties { Id = id, Body = body, TriggerType = type, TriggerOperation = operation });
    }

    [Test]
    public static async Task ProceduresAreTransactions(Scene scene)
    {
        var things = await scene.Spread();
        await Procedure(things, "fill", """
            function fill(count, fail) {
                const context = getContext(), link = context.getCollection().getSelfLink();
                console.log('filling ' + count);
                let created = 0;
                next();
                function next() {
                    if (created == count) {
                        if (fail) throw new Error('on purpose');
                        context.getResponse().setBody({ created: created });
                        return;
                    }
                    context.getCollection().createDocument(link, { id: 'd' + created, pk: 'p', n: created }, function (error) {
                        if (error) throw error;
                        created++;
                        next();
                    });
                }
            }
            """);
        var failed = await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => things.Scripts.ExecuteStoredProcedureAsync<JObject>("fill", Key, new dynamic[] { 5, true }));
        Check.Contains("on purpose", failed.Message);
        Check.Equal(0, (await things.Rows("SELECT * FROM c")).Count, "nothing is left of it");
        var done = await things.Scripts.ExecuteStoredProcedureAsync<JObject>(
            "fill", Key, new dynamic[] { 5, false }, new StoredProcedureRequestOptions { EnableScriptLogging = true });
        Check.Equal(new { created = 5 }, done.Resource);
        Check.Equal("filling 5", done.ScriptLog);
        Check.SameSet(new[] { 0, 1, 2, 3, 4 }, await things.Rows("SELECT VALUE c.n FROM c"));
    }

    [Test]
    public static async Task ProceduresQueryInPages(Scene scene)
    {
        var things = await Library.Fill(await scene.Container(), Library.Documents.Select(document => new JObject(document) { ["pk"] = "p" }));
        await Procedure(things, "sum", """
            function sum() {
                const collection = getContext().getCollection();
                let total = 0, pages = 0;
                read();
                function read(token) {
                    const accepted = collection.queryDocuments(
                        collection.getSelfLink(), 'SELECT VALUE c.n FROM c WHERE c.even', { pageSize: 20, continuation: token },
                        function (error, rows, options) {
                            if (error) throw error;
                            pages++;
                            total += rows.reduce((a, b) => a + b, 0);
                            if (options.continuation) read(options.continuation);
                            else getContext().getResponse().setBody([total, pages > 1]);
                        });
                    if (!accepted) throw new Error('not accepted');
                }
            }
            """);
        var answer = await things.Scripts.ExecuteStoredProcedureAsync<JArray>("sum", Key, null);
        Check.Equal(new object[] { 1980, true }, answer.Resource);
    }

    [Test]
    public static async Task ProceduresReadAFeed(Scene scene)
    {
        var things = await scene.Container();
        for (var n = 0; n < 5; n++) await things.CreateItemAsync(new { id = "d" + n, pk = "p", n }, Key);
        await Procedure(things, "read", """
            function read() {
                const collection = getContext().getCollection(), seen = [];
                next('');
                function next(token) {
                    collection.readDocuments(collection.getSelfLink(), { pageSize: 2, continuation: token }, function (error, found, options) {
                        if (error) throw error;
                        found.forEach(document => seen.push(document.n));
                        if (options.continuation) next(options.continuation);
                        else getContext().getResponse().setBody(seen);
                    });
                }
            }
            """);
        Check.SameSet(Enumerable.Range(0, 5), (await things.Scripts.ExecuteStoredProcedureAsync<JArray>("read", Key, null)).Resource);
    }

    [Test]
    public static async Task ProceduresReplaceAndRename(Scene scene)
    {
        var things = await scene.Container();
        await things.CreateItemAsync(new { id = "old", pk = "p", n = 1 }, Key);
        await Procedure(things, "rename", """
            function rename(from, to) {
                const collection = getContext().getCollection();
                collection.readDocument(collection.getAltLink() + '/docs/' + from, function (error, found) {
                    if (error) throw error;
                    found.id = to;
                    collection.replaceDocument(found._self, found, { etag: found._etag }, function (error, replaced) {
                        if (error) throw error;
                        getContext().getResponse().setBody(replaced.id);
                    });
                });
            }
            """);
        Check.Equal("new", (await things.Scripts.ExecuteStoredProcedureAsync<string>("rename", Key, new dynamic[] { "old", "new" })).Resource);
        Check.Equal(new[] { "new" }, await things.Rows("SELECT VALUE c.id FROM c"));
    }

    [Test]
    public static async Task ArgumentsActAsAnArray(Scene scene)
    {
        var things = await scene.Container();
        await Procedure(things, "echo", "function echo() { getContext().getResponse().setBody(Array.prototype.slice.call(arguments)); }");
        async Task<(HttpStatusCode, string)> Send(string arguments)
        {
            using var body = new MemoryStream(Encoding.UTF8.GetBytes(arguments));
            using var answer = await things.Scripts.ExecuteStoredProcedureStreamAsync("echo", body, Key);
            var text = answer.Content == null ? null : await new StreamReader(answer.Content).ReadToEndAsync();
            return (answer.StatusCode, answer.IsSuccessStatusCode ? text : null);
        }
        foreach (var (arguments, expected) in new[]
        {
            ("[1,\"two\",{\"three\":3}]", "[1,\"two\",{\"three\":3}]"),
            ("null", "[]"),
            ("{}", "[]"),
            ("{\"0\": 4}", "[]"),
            ("{\"0\": \"one\", \"1\": \"two\", \"length\": 2}", "[\"one\",\"two\"]"),
        })
            Check.Equal((HttpStatusCode.OK, expected), await Send(arguments), arguments);
        foreach (var arguments in new[] { "4", "\"text\"", "true", "[1", "{\"length\": 500001}" })
            Check.Equal(HttpStatusCode.BadRequest, (await Send(arguments)).Item1, arguments);
    }

    [Test]
    public static async Task TriggersChangeAndReject(Scene scene)
    {
        var things = await scene.Container();
        await Trigger(things, "stamp", TriggerType.Pre, TriggerOperation.All, """
            function stamp() {
                const request = getContext().getRequest(), document = request.getBody();
                document.stamped = true;
                request.setBody(document);
                document.late = 'counts';
            }
            """);
        await Trigger(things, "refuse", TriggerType.Post, TriggerOperation.Create, """
            function refuse() { if (getContext().getResponse().getBody().n > 5) throw new Error('too many'); }
            """);
        var options = new ItemRequestOptions { PreTriggers = new[] { "stamp" }, PostTriggers = new[] { "refuse" } };
        var created = (await things.CreateItemAsync(new JObject { ["id"] = "1", ["pk"] = "p", ["n"] = 1 }, Key, options)).Resource;
        Check.Equal(new object[] { true, "counts" }, new[] { created["stamped"], created["late"] });
        var refused = await Suite.Fails(
            HttpStatusCode.BadRequest,
            () => things.CreateItemAsync(new JObject { ["id"] = "2", ["pk"] = "p", ["n"] = 9 }, Key, options));
        Check.Contains("too many", refused.Message);
        Check.Equal(new[] { "1" }, await things.Rows("SELECT VALUE c.id FROM c"));
        var wrongKind = new ItemRequestOptions { PostTriggers = new[] { "refuse" } };
        await Suite.Fails(HttpStatusCode.BadRequest, () => things.DeleteItemAsync<JObject>("1", Key, wrongKind));
    }

    [Test]
    public static async Task TriggersOfUpserts(Scene scene)
    {
        var things = await scene.Container();
        await Trigger(things, "mark", TriggerType.Pre, TriggerOperation.Upsert, """
            function mark() {
                const request = getContext().getRequest(), document = request.getBody();
                document.marked = true;
                request.setBody(document);
            }
            """);
        var options = new ItemRequestOptions { PreTriggers = new[] { "mark" } };
        foreach (var n in new[] { 1, 2 })
        {
            var upserted = await things.UpsertItemAsync(new JObject { ["id"] = "1", ["pk"] = "p", ["n"] = n }, Key, options);
            Check.Equal(true, upserted.Resource["marked"]);
        }
        Check.Equal(TriggerOperation.Upsert, (await things.Scripts.ReadTriggerAsync("mark")).Resource.TriggerOperation);
    }

    [Test]
    public static async Task FunctionsAreCalledInQueries(Scene scene)
    {
        var things = await Library.Fill(await scene.Spread());
        await things.Scripts.CreateUserDefinedFunctionAsync(new UserDefinedFunctionProperties
        {
            Id = "tax",
            Body = "function tax(n) { return n === undefined ? undefined : n * 2; }",
        });
        Check.SameSet(
            Library.Documents.Where(document => (int)document["n"] * 2 > 150).Select(document => (int)document["n"] * 2),
            await things.Paged("SELECT VALUE udf.tax(c.n) FROM c WHERE udf.tax(c.n) > 150", 4));
        await things.Scripts.CreateUserDefinedFunctionAsync(new UserDefinedFunctionProperties
        {
            Id = "fails",
            Body = "function fails() { throw new Error(32766, 'Error'); }",
        });
        await Suite.Fails(HttpStatusCode.BadRequest, () => things.Rows("SELECT VALUE udf.fails() FROM c"), 32766);
    }

    [Test]
    public static async Task AreResources(Scene scene)
    {
        var scripts = (await scene.Container()).Scripts;
        await scripts.CreateStoredProcedureAsync(new StoredProcedureProperties("a", "function a() {}"));
        await Suite.Fails(
            HttpStatusCode.Conflict, () => scripts.CreateStoredProcedureAsync(new StoredProcedureProperties("a", "function a() {}")));
        await scripts.ReplaceStoredProcedureAsync(new StoredProcedureProperties("a", "function b() {}"));
        Check.Equal("function b() {}", (await scripts.ReadStoredProcedureAsync("a")).Resource.Body);
        var listed = await scripts.GetStoredProcedureQueryIterator<StoredProcedureProperties>().All();
        Check.Equal(new[] { "a" }, listed.Select(procedure => procedure.Id));
        var found = await scripts.GetStoredProcedureQueryIterator<JObject>("SELECT * FROM s WHERE s.id = 'a'").All();
        Check.Equal(1, found.Count);
        await scripts.DeleteStoredProcedureAsync("a");
        await Suite.Fails(HttpStatusCode.NotFound, () => scripts.ReadStoredProcedureAsync("a"));
        await Suite.Fails(HttpStatusCode.NotFound, () => scripts.ExecuteStoredProcedureAsync<JObject>("a", Key, null));
    }
}
