#!/usr/bin/env python3
"""What readme_test.py accepts and what it does not."""

import pathlib
import tempfile
import unittest

import readme_test


class ReadmeComparisonTest(unittest.TestCase):
    def result(self, text):
        with tempfile.TemporaryDirectory() as directory:
            readme = pathlib.Path(directory, "README.md")
            readme.write_text(text)
            return readme_test.main(readme, directory)

    def block(self, session, mark="run"):
        return f"text\n\n<!-- {mark} -->\n```console\n{session}```\n"

    def test_accepts_other_numbers(self):
        self.assertEqual(self.result(self.block("$ echo took 12.5 s\ntook 700 ms\n")), 0)

    def test_refuses_other_numbers_where_they_must_be_exact(self):
        self.assertEqual(self.result(self.block("$ echo 12\n7\n", "run exactly")), 1)
        self.assertEqual(self.result(self.block("$ echo 12\n12\n", "run exactly")), 0)

    def test_refuses_other_words_and_missing_lines(self):
        self.assertEqual(self.result(self.block("$ echo one\ntwo\n")), 1)
        self.assertEqual(self.result(self.block("$ echo one\none\ntwo\n")), 1)
        self.assertEqual(self.result(self.block("$ printf 'one\\ntwo\\n'\none\n")), 1)

    def test_dots_stand_for_any_lines(self):
        self.assertEqual(self.result(self.block("$ seq 5; echo end\n1\n...\nend\n")), 0)

    def test_refuses_a_command_that_fails(self):
        self.assertEqual(self.result(self.block("$ false\n")), 1)

    def test_refuses_a_readme_that_runs_nothing(self):
        self.assertEqual(self.result("```console\n$ true\n```\n"), 1)

    def printed(self, shown, printed, command="scripts/x"):
        with tempfile.TemporaryDirectory() as directory:
            readme = pathlib.Path(directory, "README.md")
            readme.write_text(f"text\n\n<!-- printed by scripts/x -->\n```\n{shown}```\n")
            file = pathlib.Path(directory, "printed")
            file.write_text(printed)
            return readme_test.compare_printed(readme, command, file)

    def test_compares_what_a_command_printed_elsewhere(self):
        self.assertEqual(self.printed("...\n== end\n12 words\n", "== begin\n\n== end\n7 words\n"), 0)
        self.assertEqual(self.printed("...\n== end\n", "== begin\n== end\n== what next\n"), 1)
        self.assertEqual(self.printed("...\n== end\n", "== begin\n"), 1)

    def test_refuses_a_readme_without_the_block(self):
        self.assertEqual(self.printed("x\n", "x\n", "scripts/y"), 1)


if __name__ == "__main__":
    unittest.main()
