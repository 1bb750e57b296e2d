// Reads a query page by page, each page with a new iterator that has only the continuation token.
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

public static class Paging
{
    /// <summary>
    /// Gives the rows of all pages. Page sizes are checked, and an endless chain of tokens is a failure.
    /// </summary>
    public static async Task<List<JToken>> Paged(
        this Container container,
        string query,
        int pageSize,
        QueryRequestOptions options = null,
        int mostPages = 400)
    {
        var rows = new List<JToken>();
        string token = null;
        var pages = 0;
        do
        {
            var each = options == null ? new QueryRequestOptions() : (QueryRequestOptions)options.ShallowCopy();
            each.MaxItemCount = pageSize;
            using var iterator = container.GetItemQueryIterator<JToken>(query, token, each);
            var page = await iterator.ReadNextAsync();
            Check.True(page.Count <= pageSize, $"a page of {page.Count} rows for {pageSize}");
            Check.Equal(page.ContinuationToken != null, iterator.HasMoreResults, "a token as long as there is more");
            rows.AddRange(page);
            token = page.ContinuationToken;
            Check.True(++pages <= mostPages, $"no end after {pages} pages with {rows.Count} rows");
        }
        while (token != null);
        return rows;
    }

    /// <summary>
    /// Checks that the rows are those of the documents, each once, in the order of the keys; `descending` has a
    /// value for each key. Documents that have equal keys may come in any order, but always in the same.
    /// </summary>
    public static async Task IsOrdered(
        Container container,
        IReadOnlyList<JObject> documents,
        string clauses,
        string[] keys,
        bool[] descending,
        QueryRequestOptions options = null)
    {
        var query = $"SELECT c.id, {string.Join(", ", keys.Select(key => $"c[\"{key}\"]"))} FROM c {clauses}";
        var whole = await container.Rows(query, options);
        Check.SameSet(documents.Select(document => document["id"]), whole.Select(row => row["id"]), "rows in one go");
        for (var i = 1; i < whole.Count; i++)
            Check.True(Compare(whole[i - 1], whole[i]) <= 0, $"{whole[i - 1]} before {whole[i]}".ReplaceLineEndings(""));
        foreach (var pageSize in new[] { 1, 7 })
        {
            var paged = await container.Paged(query, pageSize, options);
            Check.Equal(whole.Select(row => row["id"]), paged.Select(row => row["id"]), $"pages of {pageSize}");
        }

        int Compare(JToken a, JToken b)
        {
            for (var i = 0; i < keys.Length; i++)
            {
                var order = Library.Compare(a[keys[i]], b[keys[i]]);
                if (order != 0) return descending[i] ? -order : order;
            }
            return 0;
        }
    }
}
