"""An installed Freshet in a directory of its own, and commands that are run with it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent / "project"
TIMEOUT_SECONDS = 120
LINES = "apple\navocado\nbanana\n"
COUNTS = ["a 2", "b 1"]

LETTER_H = """inline std::string letter_of(const std::string& line) { return line.substr(0, %s); }
"""
# A job of one file and a header.
JOB = """#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/text_files.h"
#include "letter.h"

FRESHET_JOB(letters) {
  using Count = std::pair<std::string, int64_t>;
  env.from_source(freshet::text_files(env.paths(env.arguments().list("input", "files to read"))))
      .map([](const std::string& line) { return Count(letter_of(line), 1); })
      .key_by(&Count::first)
      .sum(&Count::second, freshet::Emit::final)
      .sink_to(freshet::file_sink<Count>(
          env.path(env.arguments().text("output", "directory to make")),
          [](const Count& count, std::string& line) { line += count.first + " " + std::to_string(count.second); }));
}
"""


def run(command, environment=None, directory=None):
    """Ended by its id when it takes too long. A variable that is None is taken away."""
    variables = {**os.environ, **(environment or {})}
    variables = {name: str(value) for name, value in variables.items() if value is not None}
    return subprocess.run([str(word) for word in command], cwd=directory, env=variables, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, check=False)


def install(build, prefix):
    done = run(["cmake", "--install", build, "--prefix", prefix])
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)


class InstallationTest(unittest.TestCase):
    """One prefix for all tests, and for each a directory that goes with it and a state directory in it."""

    build = None

    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="freshet-prefix-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.make_prefix()
        cls.binary = cls.prefix / "bin" / "freshet"

    @classmethod
    def make_prefix(cls):
        """Moved once, so that nothing can depend on where it was made."""
        install(cls.build, cls.home / "first")
        cls.prefix = (cls.home / "first").rename(cls.home / "moved")

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="freshet-install-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.input = self.directory / "input"
        self.input.write_text(LINES)
        self.state = self.directory / "state"

    def run_ok(self, command, **options):
        done = run(command, **options)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def run_fails(self, command, code, **options):
        """What it wrote to standard error."""
        done = run(command, **options)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stderr

    def result_of(self, output):
        lines = [line for part in sorted(output.iterdir()) for line in part.read_text().splitlines()]
        return sorted(lines)

    def count_initials(self, binary, module, *options, environment=None):
        """Runs the job in one process, and compares what it counts."""
        output = pathlib.Path(tempfile.mkdtemp(dir=self.directory)) / "output"
        done = self.run_ok([binary, "run", *options, module, "--", "--input", self.input, "--output", output],
                           environment={"FRESHET_STATE_DIR": self.state, **(environment or {})})
        self.assertEqual(self.result_of(output), COUNTS)
        return done

    def start_cluster(self, binary):
        """Stopped at the end of the test."""
        self.run_ok([binary, "cluster", "start", "--name", "installed", "--state-dir", self.state, "--taskmanagers", "2"])
        self.addCleanup(self.run_ok, [binary, "cluster", "stop", "--name", "installed", "--state-dir", self.state])
        return ["--cluster", "installed", "--state-dir", self.state]


def main():
    """NAME_test.py BUILD"""
    InstallationTest.build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
