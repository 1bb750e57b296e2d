// Users, permissions, and clients that have only their tokens.
using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;

public static class AccessTests
{
    [Test]
    public static async Task ATokenReadsItsCollection(Scene scene)
    {
        var collection = await scene.Collection();
        await scene.Fill();
        var others = await scene.Collection(name: "others", throughput: 400);
        User user = await scene.Client.CreateUserAsync(scene.DatabaseLink, new User { Id = "ada" });
        Permission permission = await scene.Client.CreatePermissionAsync(
            user.SelfLink, new Permission { Id = "read", PermissionMode = PermissionMode.Read, ResourceLink = collection.SelfLink });
        using var client = Suite.ConnectWith(new[] { permission });
        var read = await client.ReadDocumentAsync(collection.SelfLink + "docs/" + (await First(scene)).ResourceId, Suite.In("p1"));
        Check.Equal("d1", read.Resource.Id);
        Check.Equal(new[] { 60 }, await client.CreateDocumentQuery(
            collection.SelfLink, "SELECT VALUE COUNT(1) FROM c", new FeedOptions { EnableCrossPartitionQuery = true }).Rows());
        await Suite.Fails(HttpStatusCode.Forbidden, () => client.CreateDocumentAsync(collection.SelfLink, new { id = "new", pk = "p1" }));
        using var other = Suite.Connect(Suite.Endpoint, permission.Token);
        await Suite.Fails(
            HttpStatusCode.Forbidden,
            () => other.ReadDocumentAsync(UriFactory.CreateDocumentUri(scene.Database, "others", "x"), Suite.In("p")));
    }

    static async Task<Document> First(Scene scene)
    {
        return await scene.Client.ReadDocumentAsync(scene.Document("d1"), Suite.In("p1"));
    }

    [Test]
    public static async Task ATokenOfAKeyStaysWithinIt(Scene scene)
    {
        var collection = await scene.Collection();
        await scene.Fill();
        User user = await scene.Client.CreateUserAsync(scene.DatabaseLink, new User { Id = "ada" });
        Permission permission = await scene.Client.CreatePermissionAsync(user.SelfLink, new Permission
        {
            Id = "mine",
            PermissionMode = PermissionMode.All,
            ResourceLink = collection.AltLink,
            ResourcePartitionKey = new PartitionKey("p3"),
        });
        using var client = Suite.Connect(Suite.Endpoint, permission.Token);
        await client.UpsertDocumentAsync(scene.Things, new { id = "new", pk = "p3" }, Suite.In("p3"));
        Check.Equal("d3", (await client.ReadDocumentAsync(scene.Document("d3"), Suite.In("p3"))).Resource.Id);
        await Suite.Fails(HttpStatusCode.Forbidden, () => client.ReadDocumentAsync(scene.Document("d4"), Suite.In("p4")));
        await Suite.Fails(HttpStatusCode.Forbidden, () => client.CreateDocumentQuery(
            scene.Things, "SELECT * FROM c", new FeedOptions { EnableCrossPartitionQuery = true }).Rows());
    }

    [Test]
    public static async Task UsersAndPermissionsAreResources(Scene scene)
    {
        var collection = await scene.Collection();
        await scene.Client.CreateUserAsync(scene.DatabaseLink, new User { Id = "ada" });
        await scene.Client.UpsertUserAsync(scene.DatabaseLink, new User { Id = "bob" });
        Check.SameSet(new[] { "ada", "bob" }, (await scene.Client.ReadUserFeedAsync(scene.DatabaseLink)).Select(user => user.Id));
        var ada = UriFactory.CreateUserUri(scene.Database, "ada");
        Permission permission = await scene.Client.CreatePermissionAsync(
            ada, new Permission { Id = "read", PermissionMode = PermissionMode.Read, ResourceLink = collection.SelfLink });
        permission.PermissionMode = PermissionMode.All;
        await scene.Client.ReplacePermissionAsync(permission);
        var feed = await scene.Client.ReadPermissionFeedAsync(ada);
        Check.Equal(PermissionMode.All, feed.Single().PermissionMode);
        await Suite.Fails(HttpStatusCode.Conflict, () => scene.Client.CreatePermissionAsync(
            ada, new Permission { Id = "again", PermissionMode = PermissionMode.Read, ResourceLink = collection.SelfLink }));
        await scene.Client.DeleteUserAsync(ada);
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadUserAsync(ada));
    }
}
