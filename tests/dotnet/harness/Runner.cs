// Runs the tests of a suite: finds them, gives each its scene, reports, counts.
using System.Reflection;

/// <summary>Marks a test: a public static async method that takes the suite's scene.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class TestAttribute : Attribute
{
    /// <summary>After this time the test has failed, whatever it waits for.</summary>
    public int Seconds { get; set; } = 60;
}

public static class Runner
{
    /// <summary>Tests that run at the same time: most of them wait for the server most of the time.</summary>
    const int AtOnce = 4;

    /// <summary>
    /// Runs every test whose name contains one of the filters (all of them if there is none), each with a scene of
    /// its own. Gives the exit code: 0 if all passed.
    /// </summary>
    public static async Task<int> Run<TScene>(string[] filters, Func<string, Task<TScene>> begin)
        where TScene : IAsyncDisposable
    {
        var tests = Assembly.GetExecutingAssembly().GetTypes()
            .SelectMany(type => type.GetMethods(BindingFlags.Public | BindingFlags.Static))
            .Where(method => method.GetCustomAttribute<TestAttribute>() != null)
            .Where(method => filters.Length == 0 || filters.Any(NameOf(method).Contains))
            .OrderBy(NameOf, StringComparer.Ordinal)
            .ToList();
        var room = new SemaphoreSlim(AtOnce);
        var running = tests.Select(async (test, number) =>
        {
            await room.WaitAsync();
            try
            {
                // On a thread of the pool, so that a test that blocks is still timed.
                var reason = await Task.Run(() => Failure(test, () => begin($"test-{number}-{test.Name}")));
                Console.WriteLine(reason == null ? $"ok {NameOf(test)}" : $"FAIL {NameOf(test)}: {reason}");
                return reason == null;
            }
            finally
            {
                room.Release();
            }
        });
        var passed = await Task.WhenAll(running);
        Console.WriteLine($"{passed.Count(ok => ok)} passed, {passed.Count(ok => !ok)} failed");
        if (passed.Length == 0) Console.Error.WriteLine("no test has such a name");
        return passed.Length > 0 && passed.All(ok => ok) ? 0 : 1;
    }

    static string NameOf(MethodInfo test) => $"{test.DeclaringType.Name}.{test.Name}";

    /// <summary>Runs one test. Gives why it failed, or null.</summary>
    static async Task<string> Failure<TScene>(MethodInfo test, Func<Task<TScene>> begin)
        where TScene : IAsyncDisposable
    {
        var limit = TimeSpan.FromSeconds(test.GetCustomAttribute<TestAttribute>().Seconds);
        string reason = null;
        try
        {
            var scene = await begin().WaitAsync(limit);
            try
            {
                await Task.Run(() => (Task)test.Invoke(null, new object[] { scene })).WaitAsync(limit);
            }
            catch (TimeoutException)
            {
                reason = $"not done after {limit.TotalSeconds} s";
            }
            catch (Exception error)
            {
                reason = Reason(error);
            }
            await scene.DisposeAsync().AsTask().WaitAsync(limit);
        }
        catch (Exception error)
        {
            reason ??= "before or after the test: " + Reason(error);
        }
        return reason;
    }

    static string Reason(Exception error)
    {
        if (error is TargetInvocationException or AggregateException && error.InnerException != null)
            return Reason(error.InnerException);
        if (error is CheckFailed) return error.Message.ReplaceLineEndings(" ");
        // Messages of the SDKs go on for pages of diagnostics: the beginning says what happened.
        var message = error.Message.ReplaceLineEndings(" ");
        if (message.Length > 600) message = message[..600] + " ...";
        var places = (error.StackTrace ?? "").Split('\n').Where(line => line.Contains("Tests.")).Take(2);
        return $"{error.GetType().Name}: {message} {string.Join(" ", places.Select(place => place.Trim()))}";
    }
}
