"""The programs that a page makes: one of its shell lines, one of its Python, one of its JavaScript.

A program is the page itself with all lines but its own left blank, so that errors name the lines of the page. Where a
block ends it waits for its turn: blocks of different languages run in the order of the page. Every block of Java and Go
is a program by itself.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import time

from examples import commands

SECONDS = 120

# The first line of a program, which is the heading of the page, and the line that ends a block.
PRELUDE = {
    "sh": "set -e; turn() {{ echo >&{tell}; read -r _ <&{wait}; }}",
    "python": "import os as _os; _turn = lambda: (_os.write({tell}, b'.'), _os.read({wait}, 1))",
    "js": 'import {{ readSync, writeSync }} from "node:fs"; '
    'const turn = () => {{ writeSync({tell}, "."); readSync({wait}, Buffer.alloc(1)); }};',
}
TURN = {"sh": "turn", "python": "_turn()", "js": "turn();"}
SUFFIX = {"sh": "sh", "python": "py", "js": "mjs"}
COMMAND = {"sh": ["bash"], "python": ["python", "-u"], "js": ["node"]}


class Failed(Exception):
    """An example that did not do what its page says."""


def kind(language):
    """The program that a block of this language belongs to."""
    return "sh" if language == "console" else language


def source(language, examples, prelude):
    """The text of a program."""
    lines = [prelude]
    imports = set()

    def put(number, text):
        lines.extend([""] * (number - len(lines)))
        lines[number - 1] = text

    for example in examples:
        if kind(example.language) != language:
            continue
        body = list(example.lines)
        if example.language == "console":
            body = shell_of(example)
        if language == "js":
            body = [script_line(line, imports) for line in body]
        for offset, line in enumerate(body):
            put(example.first + offset, line)
        put(example.first + len(body), TURN[language])
    return "\n".join(lines) + "\n"


def shell_of(example):
    """The commands of a `console` block without what they print; each but the first waits for its turn."""
    body = [""] * len(example.lines)
    for count, (number, output) in enumerate(commands(example)):
        end = number
        while example.lines[end].endswith("\\"):
            end += 1
        body[number : end + 1] = example.lines[number : end + 1]
        body[number] = ("turn; " if count else "") + body[number][2:]
    return body


def script_line(line, imports):
    """A line of JavaScript: names may be declared again by a later block, and modules imported again."""
    if re.match(r"import .* from ", line):
        if line in imports:
            return ""
        imports.add(line)
    return re.sub(r"^(const|let) ", "var ", line)


class Program:
    """A program of a page that runs from block to block."""

    def __init__(self, language, examples, work, environment):
        tell_read, self._tell = os.pipe()
        self._wait, wait_write = os.pipe()
        self._told, self._go = tell_read, wait_write
        prelude = PRELUDE[language].format(tell=self._tell, wait=self._wait)
        path = work / f"page.{SUFFIX[language]}"
        path.write_text(source(language, examples, prelude))
        self._output = work / f".output-{language}"
        with open(self._output, "ab") as output:
            self.process = subprocess.Popen(
                [*COMMAND[language], str(path)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=work,
                env=environment,
                pass_fds=(self._tell, self._wait),
                start_new_session=True,
            )
        os.close(self._tell)
        os.close(self._wait)
        self._shown = 0
        self._begun = False

    def step(self):
        """Runs up to the next turn; returns what was printed."""
        if self._begun:
            os.write(self._go, b"\n")
        self._begun = True
        deadline = time.monotonic() + SECONDS
        while True:
            # A process in the background may hold the pipe open, so the end of the program counts, not the pipe's.
            if select.select([self._told], [], [], 0.1)[0] and os.read(self._told, 1):
                return self._printed()
            if self.process.poll() is not None:
                raise Failed(f"it ended with exit code {self.process.returncode}\n{self._printed()}")
            if time.monotonic() > deadline:
                raise Failed(f"it did not end in {SECONDS} s\n{self._printed()}")

    def _printed(self):
        with open(self._output, "rb") as output:
            output.seek(self._shown)
            new = output.read()
        self._shown += len(new)
        return new.decode(errors="replace")

    def end(self):
        """Ends the program and whatever it left in the background."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self._told)
        os.close(self._go)


def run_alone(example, work, environment, tools):
    """Runs a block of Java or Go; returns what was printed."""
    text = "\n".join(example.lines) + "\n"
    folder = work / f".{example.language}-{example.first}"
    folder.mkdir()
    if example.language == "java":
        path = folder / "Example.java"
        path.write_text(java_of(text))
        command, where = ["java", "-cp", tools.java_classpath(), str(path)], work
    else:
        # Inside the module that has the SDK: a folder of its own, which is removed again.
        where = tools.go_module / f"example{os.getpid()}"
        where.mkdir()
        (where / "main.go").write_text(text)
        command = ["go", "run", "."]
    try:
        done = subprocess.run(
            command, cwd=where, env=environment, capture_output=True, text=True, timeout=10 * SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"it did not end in {10 * SECONDS} s") from None
    finally:
        if example.language == "go":
            shutil.rmtree(where)
    if done.returncode != 0:
        raise Failed(f"it ended with exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def java_of(text):
    """A whole class of statements that stand alone."""
    if re.search(r"^(public )?class ", text, re.MULTILINE):
        return text
    lines = text.splitlines()
    head = [line for line in lines if line.startswith("import ")]
    body = ["" if line.startswith("import ") else line for line in lines]
    return "\n".join([
        *head, "public class Example {", "public static void main(String[] arguments) throws Exception {", *body, "}", "}", ""
    ])
