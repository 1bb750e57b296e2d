// What tests say about what they got. A failed check names its place in the source.
using System.Collections;
using System.Runtime.CompilerServices;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

public sealed class CheckFailed : Exception
{
    public CheckFailed(string message) : base(message) { }
}

public static class Check
{
    public static void True(
        bool condition,
        string what,
        [CallerFilePath] string file = "",
        [CallerLineNumber] int line = 0)
    {
        if (!condition) throw Failed($"not true: {what}", file, line);
    }

    /// <summary>Compares as JSON, so that lists, documents and anonymous objects are compared by what they hold.</summary>
    public static void Equal(
        object expected,
        object actual,
        string what = "",
        [CallerFilePath] string file = "",
        [CallerLineNumber] int line = 0)
    {
        JToken wanted = AsJson(expected), got = AsJson(actual);
        if (!JToken.DeepEquals(wanted, got)) throw Failed($"{what} expected {Text(wanted)}, got {Text(got)}".Trim(), file, line);
    }

    /// <summary>Compares two lists whose order does not matter.</summary>
    public static void SameSet(
        IEnumerable expected,
        IEnumerable actual,
        string what = "",
        [CallerFilePath] string file = "",
        [CallerLineNumber] int line = 0)
    {
        var missing = Texts(expected);
        var surplus = new List<string>();
        foreach (var text in Texts(actual))
            if (!missing.Remove(text)) surplus.Add(text);
        if (missing.Count + surplus.Count == 0) return;
        throw Failed($"{what} lacks {Few(missing)}; should not have {Few(surplus)}".Trim(), file, line);
    }

    public static void Contains(
        string part,
        string whole,
        [CallerFilePath] string file = "",
        [CallerLineNumber] int line = 0)
    {
        if (whole == null || !whole.Contains(part)) throw Failed($"no \"{part}\" in \"{whole}\"", file, line);
    }

    public static CheckFailed Failed(string message, string file, int line)
    {
        return new CheckFailed($"{message} ({Path.GetFileName(file)}:{line})");
    }

    static List<string> Texts(IEnumerable values) => values.Cast<object>().Select(value => Text(AsJson(value))).ToList();

    static string Few(List<string> texts)
    {
        var some = string.Join(", ", texts.Take(10));
        return texts.Count switch { 0 => "nothing", <= 10 => some, _ => $"{some} and {texts.Count - 10} more" };
    }

    static JToken AsJson(object value)
    {
        var token = value == null ? JValue.CreateNull() : value as JToken ?? JToken.FromObject(value);
        return Plain(token);
    }

    /// <summary>Whole numbers in one form: 3 and 3.0 are the same number to the database.</summary>
    static JToken Plain(JToken token)
    {
        return token switch
        {
            JObject found => new JObject(found.Properties().Select(property => new JProperty(property.Name, Plain(property.Value)))),
            JArray found => new JArray(found.Select(Plain)),
            JValue { Type: JTokenType.Float } found when (double)found == Math.Floor((double)found) && Math.Abs((double)found) < 1e15 =>
                new JValue((long)(double)found),
            _ => token,
        };
    }

    static string Text(JToken token)
    {
        var text = token.ToString(Formatting.None);
        return text.Length > 700 ? text[..700] + " ..." : text;
    }
}
