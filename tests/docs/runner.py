"""Runs the examples of pages, each page on a fresh server with a directory of its own."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import examples as reading
from examples import LANGUAGES, Unclear, commands, differs, missing
from programs import Failed, Program, kind, run_alone
from server import REPOSITORY, Server, binary

TESTS = REPOSITORY / "tests"
NEEDS = {"js": ("node", "npm"), "java": ("javac", "mvn"), "go": ("go",)}


class Tools:
    """What Java and Go need, made when the first example asks for it."""

    go_module = TESTS / "go"

    def __init__(self):
        self._classpath = None

    def lacks(self, language):
        """Why blocks of a language cannot be run here, or None."""
        for tool in NEEDS.get(language, ()):
            if shutil.which(tool) is None:
                return f"no {tool} here"
        if language == "go" and self.go_is_old():
            return "the Go here is older than the SDK needs"
        return None

    def go_is_old(self):
        def number(text):
            return [int(part) for part in re.findall(r"\d+", text)[:2]]

        around = {**os.environ, "GOTOOLCHAIN": "local"}
        found = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, env=around, check=True)
        needed = re.search(r"^go (.*)$", (self.go_module / "go.mod").read_text(), re.MULTILINE)
        return number(found.stdout) < number(needed[1])

    def java_classpath(self):
        if self._classpath is None:
            with tempfile.NamedTemporaryFile("r") as answer:
                command = ["mvn", "--batch-mode", "--quiet", "-f", str(TESTS / "java" / "pom.xml")]
                command += ["dependency:build-classpath", f"-Dmdep.outputFile={answer.name}"]
                subprocess.run(command, check=True)
                self._classpath = Path(answer.name).read_text().strip()
        return self._classpath


@dataclass
class Tally:
    """What became of the examples."""

    run: int = 0
    not_run: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def with_ports(text, ports):
    """The page with the ports of this run: others may use those that are printed."""
    return re.sub(r"\b[89]081\b", lambda match: str(ports[match[0]]), text)


def environment(work, port):
    """The environment of a reader: `sheaf` on the PATH, the SDKs installed, everything else under `work`."""
    tools = work / ".bin"
    tools.mkdir()
    (tools / "sheaf").symlink_to(binary())
    if (TESTS / "js" / "node_modules").exists():
        (work / "node_modules").symlink_to(TESTS / "js" / "node_modules")
    found = {name: value for name, value in os.environ.items() if not name.startswith(("SHEAF_", "PYTHONPATH"))}
    found["PATH"] = os.pathsep.join([str(tools), str(Path(sys.executable).parent), found["PATH"]])
    found["SHEAF_ENDPOINT"], found["SHEAF_PORT"] = f"http://127.0.0.1:{port}", str(port)
    return found


class Page:
    """A page that is being run."""

    def __init__(self, blocks, work, around, tools):
        self.blocks, self.work, self.around, self.tools = blocks, work, around, tools
        self.programs = {}

    def run(self, block):
        """Runs a block and compares what it prints."""
        if block.language in ("java", "go"):
            self.check(block.printed, run_alone(block, self.work, self.around, self.tools))
        elif block.language == "console":
            for number, expected in commands(block):
                printed = self.step(block).splitlines()
                wrong = differs(expected, printed, block.figures_differ)
                if wrong is not None:
                    place = block.first + number
                    raise Failed(f"line {place}: no {wrong!r} where it is shown, in\n" + "\n".join(printed))
        else:
            self.check(block.printed, self.step(block))

    def step(self, block):
        language = kind(block.language)
        if language not in self.programs:
            self.programs[language] = Program(language, self.blocks, self.work, self.around)
        return self.programs[language].step()

    def check(self, expected, printed):
        wrong = missing(expected, printed.splitlines())
        if wrong is not None:
            raise Failed(f"it does not print {wrong!r}, but\n{printed}")

    def end(self):
        for program in self.programs.values():
            program.end()


def run_page(path, tools, tally):
    """Runs the examples of a page up to the first that fails."""
    name = path.relative_to(REPOSITORY)
    ports = {"8081": free_port(), "9081": free_port()}
    try:
        found = reading.examples(with_ports(path.read_text(), ports), name)
    except Unclear as problem:
        tally.failures.append(str(problem))
        return
    blocks = []
    for block in found:
        why = block.why_not or tools.lacks(block.language)
        if why:
            tally.not_run[why] += 1
            print(f"{name}:{block.first}: {block.language}: not run: {why}")
        elif block.language in LANGUAGES:
            blocks.append(block)
    if not blocks:
        return
    with tempfile.TemporaryDirectory(prefix="sheaf-docs-") as folder:
        work = Path(folder).resolve()
        log = work / ".server.log"
        with Server(data_dir=work / "sheaf-data", log=log, port=ports["8081"]) as server:
            page = Page(blocks, work, environment(work, ports["8081"]), tools)
            try:
                for block in blocks:
                    place = f"{name}:{block.first}: {block.language}"
                    page.run(block)
                    tally.run += 1
                    print(f"{place}: ran", flush=True)
            except Failed as problem:
                tally.failures.append(f"{place}: {problem}")
            finally:
                page.end()
            code = server.stop()
        if code != 0 or "panicked at" in log.read_text(errors="replace"):
            tally.failures.append(f"{name}: the server ended with exit code {code}\n{log.read_text()[-2000:]}")


def main(names):
    pages = [Path(name).resolve() for name in names]
    pages = pages or [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    tools, tally = Tools(), Tally()
    for path in pages:
        run_page(path, tools, tally)
    for failure in tally.failures:
        print(f"FAILED {failure}", file=sys.stderr)
    print(f"{tally.run} examples run, {sum(tally.not_run.values())} not run, {len(tally.failures)} failed")
    for why, count in tally.not_run.most_common():
        print(f"  {count} not run: {why}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
