// What an example of the documentation prints. In the tests made from examples it stands in for the console.
public sealed class Transcript
{
    readonly List<string> lines = new();

    public void WriteLine(object line) => lines.Add($"{line}");

    /// <summary>Checks that the example printed what its comments say.</summary>
    public void Says(params string[] expected) => Check.Equal(expected, lines, "printed");
}
