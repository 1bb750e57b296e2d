"""Makes tests of the C# examples in Markdown files: a class for each block that uses the given SDK (v3 or v2).

An example is a whole program that talks to localhost:8081. In its test the address is that of the suite's server, and
what it prints must be what the comment behind the `Console.WriteLine` says, `one, then another` if it is in a loop.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```csharp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"Console\.WriteLine\(.*\);\s*// (.+)$", re.MULTILINE)


def sdk_of(program):
    return "v2" if "using Microsoft.Azure.Documents" in program else "v3"


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_of(name, path, line, program):
    usings, types, body = [], [], []
    for number, text in enumerate(program.splitlines(), line):
        if re.match(r"using [\w.]+;", text):
            usings.append(text)
        else:
            part = types if re.match(r"(record|class|enum) ", text) else body
            part += [f'#line {number} "{path}"', text]
    body = "\n".join(body)
    body = body.replace('"http://localhost:8081/"', "Suite.Endpoint")
    body = body.replace('"https://localhost:8081/"', 'Suite.Endpoint.Replace("http:", "https:")')
    says = ", ".join(literal(line) for comment in PRINTED.findall(program) for line in comment.split(", then "))
    test = "\n".join([
        f"public static class {name}ExampleTests",
        "{",
        "    static readonly Transcript Console = new();",
        *types,
        "    [Test]",
        "    public static async Task Runs(Scene scene)",
        "    {",
        body,
        "#line hidden",
        "        await Task.CompletedTask;",
        f"        Console.Says({says});",
        "    }",
        "}",
    ])
    return usings, test


def main(sdk, *paths):
    usings, tests = set(), []
    for path in map(pathlib.Path, paths):
        text = path.read_text()
        for number, block in enumerate(BLOCK.finditer(text), 1):
            if sdk_of(block[1]) == sdk:
                line = text[: block.start()].count("\n") + 2
                title = path.stem.title().replace("-", "")
                used, test = test_of(f"{title}{number}", path, line, block[1])
                usings.update(used)
                tests.append(test)
    print("\n".join([*sorted(usings), *tests]))


main(*sys.argv[1:])
