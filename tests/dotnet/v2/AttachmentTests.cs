// Attachments: what is stored with a document, and links to media elsewhere.
using System.Net;
using System.Text;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;

public static class AttachmentTests
{
    static Stream Text(string text) => new MemoryStream(Encoding.UTF8.GetBytes(text));

    static async Task<string> Read(Stream media) => await new StreamReader(media).ReadToEndAsync();

    [Test]
    public static async Task AreStoredWithTheirDocument(Scene scene)
    {
        await scene.Collection(path: null, throughput: 400);
        Document document = await scene.Client.CreateDocumentAsync(scene.Things, new { id = "book" });
        var created = await scene.Client.CreateAttachmentAsync(
            document.SelfLink, Text("Call me Ishmael."), new MediaOptions { ContentType = "text/plain", Slug = "opening" });
        Check.Equal(HttpStatusCode.Created, created.StatusCode);
        Check.Equal("opening", created.Resource.Id);
        var media = await scene.Client.ReadMediaAsync(created.Resource.MediaLink);
        Check.Equal("Call me Ishmael.", await Read(media.Media));
        await scene.Client.UpdateMediaAsync(created.Resource.MediaLink, Text("Loomings."), new MediaOptions { ContentType = "text/plain" });
        Check.Equal("Loomings.", await Read((await scene.Client.ReadMediaAsync(created.Resource.MediaLink)).Media));
        await scene.Client.DeleteAttachmentAsync(UriFactory.CreateAttachmentUri(scene.Database, "things", "book", "opening"));
        await Suite.Fails(HttpStatusCode.NotFound, () => scene.Client.ReadMediaAsync(created.Resource.MediaLink));
    }

    [Test]
    public static async Task MayLinkElsewhere(Scene scene)
    {
        await scene.Collection(path: null, throughput: 400);
        Document document = await scene.Client.CreateDocumentAsync(scene.Things, new { id = "book" });
        await scene.Client.CreateAttachmentAsync(
            document.SelfLink, new Attachment { Id = "cover", ContentType = "image/png", MediaLink = "https://example.com/cover.png" });
        await scene.Client.UpsertAttachmentAsync(
            document.SelfLink, new { id = "notes", contentType = "text/plain", media = "notes.txt", author = "ada" });
        var feed = await scene.Client.ReadAttachmentFeedAsync(scene.Document("book"));
        Check.SameSet(new[] { "cover", "notes" }, feed.Select(attachment => attachment.Id));
        var found = scene.Client.CreateAttachmentQuery(document.SelfLink, "SELECT * FROM a WHERE a.author = 'ada'");
        Check.Equal(1, (await found.Rows()).Count);
        var cover = scene.Client.CreateAttachmentQuery(document.SelfLink)
            .Where(attachment => attachment.ContentType == "image/png").ToList().Single();
        Check.Equal("https://example.com/cover.png", cover.MediaLink);
        cover.MediaLink = "https://example.com/other.png";
        await scene.Client.ReplaceAttachmentAsync(cover);
        var read = await scene.Client.ReadAttachmentAsync(UriFactory.CreateAttachmentUri(scene.Database, "things", "book", "cover"));
        Check.Equal("https://example.com/other.png", read.Resource.MediaLink);
    }

    [Test]
    public static async Task OfAPartitionedCollection(Scene scene)
    {
        await scene.Collection();
        Document document = await scene.Client.CreateDocumentAsync(scene.Things, new { id = "book", pk = "p" });
        await scene.Client.CreateAttachmentAsync(
            document.SelfLink, new Attachment { Id = "cover", ContentType = "image/png", MediaLink = "cover.png" }, Suite.In("p"));
        var link = UriFactory.CreateAttachmentUri(scene.Database, "things", "book", "cover");
        Check.Equal("cover.png", (await scene.Client.ReadAttachmentAsync(link, Suite.In("p"))).Resource.MediaLink);
    }
}
