// A server of a test's own, for what must not be set for all tests.
using System.Diagnostics;

public sealed class Server : IAsyncDisposable
{
    readonly Process process;
    readonly Task<string> log;

    public string Endpoint { get; }

    Server(Process process, Task<string> log, string endpoint)
    {
        this.process = process;
        this.log = log;
        Endpoint = endpoint;
        // Of a test that is not done in time.
        AppDomain.CurrentDomain.ProcessExit += (_, _) => Kill();
    }

    /// <summary>Starts a server with an empty store in memory.</summary>
    public static async Task<Server> Start(params string[] settings)
    {
        var start = new ProcessStartInfo(Environment.GetEnvironmentVariable("SHEAF_BIN"))
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (var argument in new[] { "serve", "--port", "0", "--in-memory" }.Concat(settings))
            start.ArgumentList.Add(argument);
        var process = Process.Start(start);
        var log = process.StandardError.ReadToEndAsync();
        var ready = await process.StandardOutput.ReadLineAsync();
        const string prefix = "ready endpoint=";
        if (ready == null || !ready.StartsWith(prefix)) throw new CheckFailed("the server did not start: " + await log);
        return new Server(process, log, ready[prefix.Length..]);
    }

    void Kill()
    {
        try
        {
            process.Kill();
        }
        catch (InvalidOperationException)
        {
            // It has ended.
        }
    }

    public async ValueTask DisposeAsync()
    {
        Kill();
        await process.WaitForExitAsync();
        var panic = (await log).Split('\n').FirstOrDefault(line => line.Contains("panicked at"));
        process.Dispose();
        if (panic != null) throw new CheckFailed("the server panicked: " + panic);
    }
}
