// The documents that the tests of queries run over, and an order of values to compare with.
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class Library
{
    /// <summary>
    /// 90 documents of 15 keys. `n` is unique, `group` has ties, `mixed` is of every type that is not an array or an
    /// object, or not there; `deep` is of every type; `tags` is an array of 0 to 3 strings.
    /// </summary>
    public static readonly IReadOnlyList<JObject> Documents = Enumerable.Range(0, 90).Select(Document).ToList();

    static JObject Document(int n)
    {
        var document = new JObject
        {
            ["id"] = "d" + n,
            ["pk"] = "p" + n % 15,
            ["n"] = n,
            ["group"] = "g" + n % 4,
            ["tags"] = new JArray(Enumerable.Range(0, n % 4).Select(i => "t" + (n + i) % 5)),
            ["even"] = n % 2 == 0,
        };
        var mixed = Mixed(n);
        if (mixed != null) document["mixed"] = mixed;
        var deep = n % 3 == 0 ? mixed : n % 3 == 1 ? new JArray(n % 10, "x") : new JObject { ["a"] = n % 10, ["b"] = new JArray(n % 2) };
        if (deep != null) document["deep"] = deep.DeepClone();
        return document;
    }

    static JToken Mixed(int n)
    {
        return (n % 9) switch
        {
            0 => null,
            1 => JValue.CreateNull(),
            2 => false,
            3 => true,
            4 => n % 20,
            5 => -n / 8.0,
            6 => "word " + n % 5,
            7 => n % 2 == 0 ? "" : "é" + n,
            _ => n * 1e10,
        };
    }

    public static async Task<Container> Fill(Container container, IEnumerable<JObject> documents = null)
    {
        await Task.WhenAll((documents ?? Documents).Select(
            document => container.CreateItemAsync(document, new PartitionKey((string)document["pk"]))));
        return container;
    }

    /// <summary>The order of the database: by type, then by value. Arrays are equal among themselves here, and so are objects.</summary>
    public static int Compare(JToken a, JToken b)
    {
        var byType = Rank(a).CompareTo(Rank(b));
        if (byType != 0) return byType;
        return Rank(a) switch
        {
            4 => ((double)a).CompareTo((double)b),
            5 => string.CompareOrdinal((string)a, (string)b),
            _ => 0,
        };
    }

    static int Rank(JToken value)
    {
        return value?.Type switch
        {
            null or JTokenType.Undefined => 0,
            JTokenType.Null => 1,
            JTokenType.Boolean => (bool)value ? 3 : 2,
            JTokenType.Integer or JTokenType.Float => 4,
            JTokenType.String => 5,
            JTokenType.Array => 6,
            _ => 7,
        };
    }
}
