#!/usr/bin/env python3
"""How coverage.py reads what a target reached and what README.md wants, and what run.py says of a target that fails."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import coverage
import run

HERE = pathlib.Path(__file__).resolve().parent

PRINTED = """
COVERED_FUNC: hits: 3 edges: 2/3 freshet::(anonymous namespace)::Reader::parse(std::map<int, int>) const /x/build/../../a/b.cc:9
UNCOVERED_FUNC: hits: 0 edges: 0/3 void freshet::decode_all<freshet::(anonymous namespace)::T>(int) /x/build/../../a/c.h:7
COVERED_FUNC: hits: 1 edges: 1/1 freshet::fuzz::parse() /x/build/../../tests/fuzz/a.cc:7
UNCOVERED_FUNC: hits: 0 edges: 0/1 std::parse() /usr/include/a.h:7
UNCOVERED_FUNC: hits: 0 edges: 0/1 freshet::Other::run[abi:cxx11]() /x/build/../../a/b.cc:7
"""
PARSE, DECODE = ("Reader::parse", "a/b.cc"), ("decode_all", "a/c.h")


class CoverageTest(unittest.TestCase):
    def test_names_functions_without_arguments(self):
        reached, known = coverage.parse_coverage(PRINTED)
        self.assertEqual(reached, {PARSE})
        self.assertEqual(known, {PARSE, DECODE, ("Other::run", "a/b.cc")})

    def test_reads_the_table(self):
        rows, without = coverage.read_table("| `A::b` | `a/b.cc` | one, two |\n- `c` of `a/c.cc`: why\n")
        self.assertEqual(rows, [("A::b", "a/b.cc", ["one", "two"])])
        self.assertEqual(without, {("c", "a/c.cc")})

    def test_names_what_is_not_reached_not_there_and_not_listed(self):
        rows = [(*PARSE, ["one", "two"]), ("gone", "a/b.cc", ["one"])]
        self.assertEqual(coverage.check(rows, set(), {"one": {PARSE}}, {PARSE, DECODE}), [
            "a/b.cc: Reader::parse is not reached from the corpus of two",
            "a/b.cc: there is no function gone; correct the table in tests/fuzz/README.md",
            "a/c.h: decode_all reads something; reach it from a target, and add it to tests/fuzz/README.md"])
        self.assertEqual(coverage.check([(*PARSE, ["one"])], {DECODE}, {"one": {PARSE}}, {PARSE, DECODE}), [])


class RunTest(unittest.TestCase):
    def run_targets(self, scripts, arguments=()):
        """With programs that are these shell scripts."""
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for name, script in scripts.items():
                (root / "corpus" / name).mkdir(parents=True)
                program = root / f"fuzz_{name}"
                program.write_text("#!/bin/sh\n" + script)
                program.chmod(0o755)
            done = subprocess.run(
                [sys.executable, HERE / "run.py", "--programs", root, "--corpus", root / "corpus", "--found", root / "found",
                 *arguments], capture_output=True, text=True, env={**os.environ, "FRESHET_FUZZ_SECONDS": "7"})
            return done.returncode, done.stdout, done.stderr

    def test_names_what_failed_and_its_input(self):
        fails = 'for a; do case "$a" in -artifact_prefix=*) echo x > "${a#*=}crash-1";; esac; done\necho "a.cc:1: CHECK failed: b"\nexit 77'
        code, output, _ = self.run_targets({"bad": fails, "good": 'echo "stat::number_of_executed_units: 5"'})
        self.assertEqual(code, 1)
        self.assertRegex(output, r"bad: FAILED: a.cc:1: CHECK failed: b\n.*log\n.*fuzz_bad .*/bad/failed/crash-1\n"
                                 r"good: 5 inputs, .*\n1 passed, 1 failed\n$")

    def test_gives_each_as_long_as_it_was_told(self):
        script = 'case "$*" in *-max_total_time=7*) exit 0;; esac\nexit 1'
        self.assertEqual(self.run_targets({"one": script})[0], 0)
        self.assertEqual(self.run_targets({"one": script}, ["--seconds", "8"])[0], 1)

    def test_chooses_the_fewest_and_smallest_files_that_reach_all(self):
        with tempfile.TemporaryDirectory() as directory:
            names = [f"{directory}/{name}" for name in ("all", "small", "part", "other")]
            for name, size in zip(names, (9, 3, 1, 1)):
                pathlib.Path(name).write_bytes(bytes(size))
            control = "\n".join(["4", "0", *names, "STARTED 0 9", "FT 0 1 2 3", "FT 1 1 2 3", "FT 2 1", "COV 2 7", "FT 3 4"])
            self.assertEqual(run.chosen_files(control, 50), [names[1], names[3]])
            self.assertEqual(run.chosen_files(control, 1), [names[1]])
            self.assertEqual(run.chosen_files(control, 50, [names[0]]), [names[3]])

    def test_refuses_targets_that_are_not_there(self):
        code, _, errors = self.run_targets({"one": "exit 0"}, ["two"])
        self.assertEqual(code, 2)
        self.assertIn("no target two; there are one", errors)


if __name__ == "__main__":
    unittest.main()
