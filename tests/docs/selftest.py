"""Tests of the runner: what it reads from a page, and what it takes for a difference."""

import unittest

from examples import Unclear, commands, differs, examples, missing
from programs import java_of, source

PAGE = """# A page

```sh
echo one
```

<!-- not run: needs root -->
```sh
rm -rf /
```

```console
$ echo two \\
    three
two three
$ echo four
four
```

```js
const a = 1;
console.log(a); // 1
```

```toml
port = 1
```
"""


class Reading(unittest.TestCase):
    def test_blocks_are_found_with_their_lines_and_marks(self):
        found = examples(PAGE, "page")
        self.assertEqual([block.language for block in found], ["sh", "sh", "console", "js"])
        self.assertEqual([block.first for block in found], [4, 9, 13, 21])
        self.assertEqual([block.why_not for block in found], [None, "needs root", None, None])
        self.assertEqual(found[3].printed, ["1"])

    def test_a_command_has_the_output_behind_it(self):
        self.assertEqual(commands(examples(PAGE, "page")[2]), [(0, ["two three"]), (3, ["four"])])

    def test_a_mark_needs_a_reason(self):
        page = PAGE.replace("not run: needs root", "not run:")
        self.assertIsNone(examples(page, "page")[1].why_not)

    def test_a_block_that_hides_commands_is_refused(self):
        for page in ("```\n$ sheaf top\n```\n", "```\nsheaf top\n```\n", "```sh\necho\n"):
            with self.assertRaises(Unclear):
                examples(page, "page")


class Making(unittest.TestCase):
    def test_a_program_has_the_lines_of_the_page(self):
        found = [block for block in examples(PAGE, "page") if not block.why_not]
        lines = source("sh", found, "set -e").splitlines()
        self.assertEqual(lines[0], "set -e")
        self.assertEqual(lines[3:5], ["echo one", "turn"])
        self.assertEqual(lines[12:18], ["echo two \\", "    three", "", "turn; echo four", "", "turn"])

    def test_javascript_may_declare_a_name_again(self):
        self.assertIn("var a = 1;", source("js", examples(PAGE, "page"), ""))

    def test_java_statements_become_a_class(self):
        text = java_of('import java.util.*;\nSystem.out.println("x");\n')
        self.assertTrue(text.startswith("import java.util.*;\npublic class Example {"))


class Comparing(unittest.TestCase):
    def test_space_and_rules_do_not_count(self):
        self.assertIsNone(differs(["id  total", "--  -----", "1    12.5"], ["id total", "-- ---", "1  12.5"]))

    def test_a_difference_is_named(self):
        self.assertEqual(differs(["a", "b"], ["a", "c"]), "b")
        self.assertEqual(differs(["a"], ["a", "b"]), "the end of the output")
        self.assertEqual(differs(["a 1"], ["a 2"]), "a 1")

    def test_dots_stand_for_anything(self):
        self.assertIsNone(differs(["a", "...", "z ... end"], ["a", "b", "c", "z x end"]))

    def test_figures_can_be_left_out(self):
        was = ["0001-20261116T030000Z: 412 files, 9.31 GB", "1  208CD640000000000000000000000000"]
        now = ["0002-20261117T040000Z: 9 files, 10.7 kB", "7  3FFFFFFFFFFFFFFF"]
        self.assertIsNone(differs(was, now, figures_differ=True))
        self.assertEqual(differs(was, now), was[0])

    def test_printed_lines_are_found_in_order(self):
        self.assertIsNone(missing(["a", "c"], ["a", "b", "c"]))
        self.assertEqual(missing(["c", "a"], ["a", "b", "c"]), "a")


if __name__ == "__main__":
    unittest.main()
