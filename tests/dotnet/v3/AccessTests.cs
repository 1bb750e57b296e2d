// Users, permissions, and clients that have only a resource token.
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class AccessTests
{
    [Test]
    public static async Task UsersHavePermissions(Scene scene)
    {
        var things = await scene.Container();
        User ada = await scene.Database.CreateUserAsync("ada");
        await Suite.Fails(HttpStatusCode.Conflict, () => scene.Database.CreateUserAsync("ada"));
        var permission = await ada.CreatePermissionAsync(new PermissionProperties("read", PermissionMode.Read, things));
        Check.Contains("type=resource", permission.Resource.Token);
        await ada.UpsertPermissionAsync(new PermissionProperties("read", PermissionMode.All, things));
        Check.Equal(PermissionMode.All, (await ada.GetPermission("read").ReadAsync()).Resource.PermissionMode);
        Check.Equal(new[] { "read" }, (await ada.GetPermissionQueryIterator<PermissionProperties>().All()).Select(found => found.Id));
        Check.Equal(
            new[] { "ada" }, (await scene.Database.GetUserQueryIterator<UserProperties>("SELECT * FROM u").All()).Select(found => found.Id));
        await ada.GetPermission("read").DeleteAsync();
        await Suite.Fails(HttpStatusCode.NotFound, () => ada.GetPermission("read").ReadAsync());
        await ada.DeleteAsync();
    }

    [Test]
    public static async Task ATokenReadsItsContainer(Scene scene)
    {
        var things = await Library.Fill(await scene.Spread());
        var others = await scene.Container("/pk", "others");
        User ada = await scene.Database.CreateUserAsync("ada");
        var token = (await ada.CreatePermissionAsync(new PermissionProperties("read", PermissionMode.Read, things))).Resource.Token;
        using var client = Suite.Connect(Suite.Endpoint, key: token);
        var seen = client.GetContainer(scene.Database.Id, things.Id);
        Check.Equal(3, (await seen.ReadItemAsync<JObject>("d3", new PartitionKey("p3"))).Resource["n"]);
        Check.Equal(new[] { 90 }, await seen.Rows("SELECT VALUE COUNT(1) FROM c"));
        Check.Equal(Enumerable.Range(0, 90).Reverse(), await seen.Paged("SELECT VALUE c.n FROM c ORDER BY c.n DESC", 17));
        await Suite.Fails(HttpStatusCode.Forbidden, () => seen.CreateItemAsync(new { id = "x", pk = "p" }, new PartitionKey("p")));
        await Suite.Fails(
            HttpStatusCode.Forbidden,
            () => client.GetContainer(scene.Database.Id, others.Id).ReadItemAsync<JObject>("x", new PartitionKey("p")));
    }

    [Test]
    public static async Task ATokenOfAKeyStaysWithinIt(Scene scene)
    {
        var things = await Library.Fill(await scene.Spread());
        User ada = await scene.Database.CreateUserAsync("ada");
        var mine = new PartitionKey("p3");
        var token = (await ada.CreatePermissionAsync(new PermissionProperties("mine", PermissionMode.All, things, mine))).Resource.Token;
        using var client = Suite.Connect(Suite.Endpoint, key: token);
        var seen = client.GetContainer(scene.Database.Id, things.Id);
        await seen.UpsertItemAsync(new { id = "new", pk = "p3", n = 3 }, mine);
        Check.Equal(
            new[] { 7 }, await seen.Rows("SELECT VALUE COUNT(1) FROM c", new QueryRequestOptions { PartitionKey = mine }));
        await Suite.Fails(HttpStatusCode.Forbidden, () => seen.ReadItemAsync<JObject>("d4", new PartitionKey("p4")));
        await Suite.Fails(HttpStatusCode.Forbidden, () => seen.UpsertItemAsync(new { id = "new", pk = "p4" }, new PartitionKey("p4")));
        await Suite.Fails(HttpStatusCode.Forbidden, () => seen.Rows("SELECT * FROM c"));
        var changes = seen.GetChangeFeedIterator<JObject>(ChangeFeedStartFrom.Beginning(), ChangeFeedMode.LatestVersion);
        await Suite.Fails(HttpStatusCode.Forbidden, () => changes.ReadNextAsync());
    }

    [Test]
    public static async Task BadKeysAreUnauthorized(Scene scene)
    {
        var things = await scene.Container();
        using var client = Suite.Connect(Suite.Endpoint, key: Convert.ToBase64String(new byte[64]));
        await Suite.Fails(
            HttpStatusCode.Unauthorized,
            () => client.GetContainer(scene.Database.Id, things.Id).ReadItemAsync<JObject>("x", new PartitionKey("p")));
    }
}
