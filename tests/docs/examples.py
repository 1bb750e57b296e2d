"""The examples of a Markdown page.

A fenced block of one of the languages below is an example. What it prints is compared with what the page shows:

* `console`: lines that begin with `$ ` are commands, the lines behind one are its output. `...` stands for anything,
  in a line or as lines of its own.
* Python, JavaScript, Java and Go: the comment behind a line that prints, `one, then another` if it is in a loop.

A comment in the line before a block changes what is done with it:

* `<!-- not run: needs systemd -->` leaves it out, and says why.
* `<!-- figures differ -->` compares its output without numbers, sizes and ids.
"""

import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^```(\w*)\s*$")
COMMENT = re.compile(r"^<!--\s*(.*?)\s*-->$")
NAMES = {"bash": "sh", "shell": "sh", "javascript": "js", "py": "python"}
LANGUAGES = ("sh", "console", "python", "js", "java", "go")
# Another suite runs these.
ELSEWHERE = {"csharp": "tests/dotnet runs it"}
# A block without a language must not hide a command.
COMMAND = re.compile(r"^(\$ |sheaf |curl |sudo |systemctl |docker |npm |pip )", re.MULTILINE)
PRINTS = re.compile(r"(?:print|console\.log|System\.out\.println|fmt\.Println)\(.*\);?\s*(?:#|//) (.+)$")


class Unclear(Exception):
    """A page from which it cannot be told what to run."""


@dataclass
class Example:
    """A block of a page: its lines with the number of the first, counted from 1."""

    language: str
    first: int
    lines: list
    marks: list = field(default_factory=list)

    @property
    def why_not(self):
        """Why it is not run, or None."""
        for mark in self.marks:
            if mark.startswith("not run:") and mark[8:].strip():
                return mark[8:].strip()
        return ELSEWHERE.get(self.language)

    @property
    def figures_differ(self):
        return "figures differ" in self.marks

    @property
    def printed(self):
        """What the comments say that it prints."""
        found = [match[1] for line in self.lines if (match := PRINTS.search(line))]
        return [line for comment in found for line in comment.split(", then ")]


def examples(text, page):
    """The examples of a page, in order."""
    found, block, marks = [], None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if block is None and fence:
            block = Example(NAMES.get(fence[1], fence[1]), number + 1, [], marks)
            marks = []
        elif block is not None and fence:
            keep(block, found, page)
            block = None
        elif block is not None:
            block.lines.append(line)
        elif comment := COMMENT.match(line):
            marks = [*marks, comment[1]]
        elif line.strip():
            marks = []
    if block is not None:
        raise Unclear(f"{page}:{block.first}: the block has no end")
    return found


def keep(block, found, page):
    if block.language in LANGUAGES or block.language in ELSEWHERE:
        found.append(block)
    elif not block.language and not block.marks and COMMAND.search("\n".join(block.lines)):
        raise Unclear(f"{page}:{block.first}: a block with commands needs a language: sh, or console with its output")


def commands(example):
    """The commands of a `console` block: the line of each and what the page shows of its output."""
    found = []
    goes_on = False
    for number, line in enumerate(example.lines):
        if line.startswith("$ "):
            found.append((number, []))
            goes_on = line.endswith("\\")
        elif goes_on:
            goes_on = line.endswith("\\")
        elif found:
            found[-1][1].append(line)
    return found


def differs(expected, printed, figures_differ=False):
    """The first expected line that is not where it should be, or None. All lines of the output are accounted for."""
    tidy = without_figures if figures_differ else spaces
    wanted, lines = [tidy(line) for line in expected], [tidy(line) for line in printed]
    pattern = "".join(r"(?:.*\n)*" if line == "..." else anything(line) + r"\n" for line in wanted)
    if re.fullmatch(pattern, "".join(line + "\n" for line in lines)):
        return None
    for count in range(1, len(wanted) + 1):
        start = "".join(r"(?:.*\n)*" if line == "..." else anything(line) + r"\n" for line in wanted[:count])
        if not re.match(start, "".join(line + "\n" for line in lines)):
            return expected[count - 1]
    return "the end of the output"


def missing(expected, printed):
    """The first expected line that the output does not have behind those before it, or None."""
    rest = iter([spaces(line) for line in printed])
    for line in expected:
        pattern = re.compile(anything(spaces(line)))
        if not any(pattern.fullmatch(other) for other in rest):
            return line
    return None


def anything(line):
    return ".*".join(re.escape(part) for part in line.split("..."))


def spaces(line):
    return re.sub(r"-{2,}", "-", re.sub(r"\s+", " ", line).strip())


def without_figures(line):
    line = re.sub(r"\b[0-9A-F]{8,}\b", "0", line)
    line = re.sub(r"\d[\d.,:]*(T\d+Z)?", "0", line)
    return spaces(re.sub(r"\b0 ([kMGT]?B|bytes)\b", "0 B", line))
