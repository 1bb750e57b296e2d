// Microsoft.Azure.Cosmos 3.x in gateway mode: how the tests connect, and what each of them has.
using System.Net;
using System.Runtime.CompilerServices;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class Suite
{
    public const string Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    public static readonly string Endpoint = Environment.GetEnvironmentVariable("SHEAF_ENDPOINT");

    static readonly CosmosClient Client = Connect(Endpoint);

    public static Task<int> Main(string[] filters)
    {
        return Runner.Run(filters, name => Scene.Begin(Client, name));
    }

    public static CosmosClient Connect(string endpoint, Action<CosmosClientOptions> change = null, string key = Key)
    {
        var options = new CosmosClientOptions { ConnectionMode = ConnectionMode.Gateway, LimitToEndpoint = true };
        change?.Invoke(options);
        return new CosmosClient(endpoint, key, options);
    }

    /// <summary>Waits for the failure that a call must have.</summary>
    public static async Task<CosmosException> Fails(
        HttpStatusCode status,
        Func<Task> call,
        int? substatus = null,
        [CallerFilePath] string file = "",
        [CallerLineNumber] int line = 0)
    {
        try
        {
            await call();
        }
        catch (CosmosException error)
        {
            Check.Equal((int)status, (int)error.StatusCode, error.ResponseBody, file, line);
            if (substatus != null) Check.Equal(substatus, error.SubStatusCode, "substatus", file, line);
            return error;
        }
        throw Check.Failed($"expected {(int)status}, got an answer", file, line);
    }

    /// <summary>Reads an iterator to its end.</summary>
    public static async Task<List<T>> All<T>(this FeedIterator<T> pages)
    {
        using var closing = pages;
        var rows = new List<T>();
        while (pages.HasMoreResults) rows.AddRange(await pages.ReadNextAsync());
        return rows;
    }

    public static Task<List<JToken>> Rows(this Container container, string query, QueryRequestOptions options = null)
    {
        return container.GetItemQueryIterator<JToken>(query, null, options).All();
    }
}

/// <summary>What one test has: a client, and a database that is deleted in the end.</summary>
public sealed class Scene : IAsyncDisposable
{
    public CosmosClient Client { get; private init; }
    public Database Database { get; private init; }

    public static async Task<Scene> Begin(CosmosClient client, string name)
    {
        Database database = await client.CreateDatabaseAsync(name);
        return new Scene { Client = client, Database = database };
    }

    /// <summary>A container with one physical partition.</summary>
    public async Task<Container> Container(string path = "/pk", string name = "things")
    {
        return await Database.CreateContainerAsync(name, path, 400);
    }

    /// <summary>A container with three physical partitions.</summary>
    public async Task<Container> Spread(ContainerProperties properties = null)
    {
        return await Database.CreateContainerAsync(properties ?? new ContainerProperties("things", "/pk"), 30_000);
    }

    public async ValueTask DisposeAsync()
    {
        using var answer = await Database.DeleteStreamAsync();
        if (answer.StatusCode != HttpStatusCode.NotFound) answer.EnsureSuccessStatusCode();
    }
}
