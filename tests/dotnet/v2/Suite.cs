// Microsoft.Azure.DocumentDB.Core 2.11 in gateway mode: how the tests connect, and what each of them has.
using System.Net;
using System.Runtime.CompilerServices;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;
using Newtonsoft.Json.Linq;

public static class Suite
{
    public const string Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    public static readonly string Endpoint = Environment.GetEnvironmentVariable("SHEAF_ENDPOINT");

    static readonly DocumentClient Client = Connect(Endpoint);

    public static Task<int> Main(string[] filters)
    {
        return Runner.Run(filters, name => Scene.Begin(Client, name));
    }

    static ConnectionPolicy Policy(int mostRetries)
    {
        return new ConnectionPolicy
        {
            ConnectionMode = ConnectionMode.Gateway,
            RetryOptions = new RetryOptions { MaxRetryAttemptsOnThrottledRequests = mostRetries },
        };
    }

    public static DocumentClient Connect(string endpoint, string key = Key, int mostRetries = 9)
    {
        return new DocumentClient(new Uri(endpoint), key, Policy(mostRetries), ConsistencyLevel.Session);
    }

    public static DocumentClient ConnectWith(IList<Permission> permissions)
    {
        return new DocumentClient(new Uri(Endpoint), permissions, Policy(9), ConsistencyLevel.Session);
    }

    public static RequestOptions In(object key, Action<RequestOptions> change = null)
    {
        var options = new RequestOptions { PartitionKey = new PartitionKey(key) };
        change?.Invoke(options);
        return options;
    }

    /// <summary>Waits for the failure that a call must have.</summary>
    public static async Task<DocumentClientException> Fails(
        HttpStatusCode status,
        Func<Task> call,
        [CallerFilePath] string file = "",
        [CallerLineNumber] int line = 0)
    {
        try
        {
            await call();
        }
        catch (DocumentClientException error)
        {
            Check.Equal((int)status, (int?)error.StatusCode, error.Message, file, line);
            return error;
        }
        throw Check.Failed($"expected {(int)status}, got an answer", file, line);
    }

    /// <summary>Reads a query to its end.</summary>
    public static async Task<List<JToken>> Rows(this IQueryable<dynamic> query)
    {
        var pages = query.AsDocumentQuery();
        var rows = new List<JToken>();
        while (pages.HasMoreResults) rows.AddRange((await pages.ExecuteNextAsync<JToken>()).Select(row => row));
        return rows;
    }
}

/// <summary>What one test has: a client, and a database that is deleted in the end.</summary>
public sealed class Scene : IAsyncDisposable
{
    public DocumentClient Client { get; private init; }
    public string Database { get; private init; }

    public Uri DatabaseLink => UriFactory.CreateDatabaseUri(Database);
    public Uri Things => UriFactory.CreateDocumentCollectionUri(Database, "things");

    public static async Task<Scene> Begin(DocumentClient client, string name)
    {
        await client.CreateDatabaseAsync(new Database { Id = name });
        return new Scene { Client = client, Database = name };
    }

    public Uri Document(string id) => UriFactory.CreateDocumentUri(Database, "things", id);

    /// <summary>Makes the collection `things`: by default with three physical partitions.</summary>
    public async Task<DocumentCollection> Collection(string path = "/pk", int throughput = 30_000, string name = "things")
    {
        var collection = new DocumentCollection { Id = name };
        if (path != null) collection.PartitionKey.Paths.Add(path);
        return await Client.CreateDocumentCollectionAsync(DatabaseLink, collection, new RequestOptions { OfferThroughput = throughput });
    }

    /// <summary>The 60 documents that most tests read: `n` is unique, `group` has ties, some have no `maybe`.</summary>
    public static readonly IReadOnlyList<JObject> Documents = Enumerable.Range(0, 60).Select(n =>
    {
        var document = new JObject
        {
            ["id"] = "d" + n,
            ["pk"] = "p" + n % 10,
            ["n"] = n,
            ["group"] = "g" + n % 4,
            ["tags"] = new JArray("t" + n % 3, "x"),
        };
        if (n % 5 != 0) document["maybe"] = n % 5 == 1 ? "s" + n % 3 : n % 5 == 2 ? n % 7 : n % 2 == 0;
        return document;
    }).ToList();

    public async Task Fill()
    {
        await Task.WhenAll(Documents.Select(document => Client.CreateDocumentAsync(Things, document)));
    }

    public async ValueTask DisposeAsync()
    {
        await Client.DeleteDatabaseAsync(DatabaseLink);
    }
}
