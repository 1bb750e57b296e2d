// Keeps the requests that an SDK sends.
using System.Collections.Concurrent;

public sealed class Recorder : DelegatingHandler
{
    public ConcurrentQueue<HttpRequestMessage> Requests { get; } = new();

    public ConcurrentQueue<HttpResponseMessage> Responses { get; } = new();

    public Recorder() : base(new HttpClientHandler()) { }

    protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancel)
    {
        Requests.Enqueue(request);
        var response = await base.SendAsync(request, cancel);
        Responses.Enqueue(response);
        return response;
    }
}
