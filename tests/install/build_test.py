#!/usr/bin/env python3
"""`freshet build`, and `freshet run` and `freshet info` of a source, with what is installed.

build_test.py BUILD"""

import json
import shutil

from installation import InstallationTest, JOB, LETTER_H, main


class BuildTest(InstallationTest):
    def setUp(self):
        super().setUp()
        self.sources = self.directory / "own sources"  # With a blank: no shell may see it.
        self.sources.mkdir()
        self.job = self.sources / "letters.cc"
        self.job.write_text(JOB)
        self.header = self.sources / "letter.h"
        self.header.write_text(LETTER_H % 1)
        self.fast = {"CXXFLAGS": "-O0 -g0"}

    def cached_modules(self):
        return sorted((self.state / ".modules").glob("*.so"))

    def test_builds_a_module_that_runs(self):
        self.run_ok([self.binary, "build", self.job], directory=self.directory)
        self.count_initials(self.binary, self.directory / "letters.so", "--local")

    def test_builds_from_several_sources_with_flags_and_another_compiler(self):
        self.header.write_text("std::string letter_of(const std::string& line);\n")
        (self.sources / "letter.cpp").write_text("#include <string>\n#include LETTER\n" + LETTER_H[len("inline "):] % "LETTER_SIZE")
        module = self.directory / "out" / "module.so"
        module.parent.mkdir()
        compiler = shutil.which("clang++-14") or shutil.which("g++")
        done = self.run_ok([self.binary, "build", self.job, self.sources / "letter.cpp", "-o", module, "--", "-DLETTER_SIZE=1",
                            '-DLETTER="letter.h"'], environment={**self.fast, "CXX": compiler})
        self.assertEqual(done.stdout, f"Built {module}\n")
        self.assertEqual([path.name for path in module.parent.iterdir()], ["module.so"])
        self.count_initials(self.binary, module, "--local")

    def test_builds_a_source_once_and_again_when_anything_of_it_changed(self):
        first = self.count_initials(self.binary, self.job, "--local", environment=self.fast)
        self.assertIn(f"Building {self.job}\n", first.stderr)
        again = self.count_initials(self.binary, self.job, "--local", environment=self.fast)
        self.assertNotIn("Building", again.stderr)
        self.assertEqual(len(self.cached_modules()), 1)

        self.header.write_text(LETTER_H % 2)
        output = self.directory / "two letters"
        done = self.run_ok([self.binary, "run", "--local", self.job, "--", "--input", self.input, "--output", output],
                           environment={"FRESHET_STATE_DIR": self.state, **self.fast})
        self.assertIn("Building", done.stderr)
        self.assertEqual(self.result_of(output), ["ap 1", "av 1", "ba 1"])

        self.header.write_text(LETTER_H % 1)
        other_flags = self.count_initials(self.binary, self.job, "--local", environment={"CXXFLAGS": "-O1"})
        self.assertIn("Building", other_flags.stderr)

    def test_runs_a_source_on_a_cluster_and_shows_its_plan(self):
        cluster = self.start_cluster(self.binary)
        self.count_initials(self.binary, self.job, *cluster, "-p", "2", environment=self.fast)
        done = self.run_ok([self.binary, "info", self.job, "-p", "2", "--", "--input", self.input, "--output", "x"],
                           environment={"FRESHET_STATE_DIR": self.state, **self.fast})
        self.assertEqual(done.stderr, "")  # The module of the run before.
        self.assertEqual(json.loads(done.stdout)["name"], "letters")

    def refuses(self, message, *arguments, code=1, environment=None):
        errors = self.run_fails([self.binary, *arguments], code, directory=self.directory,
                                environment={"FRESHET_STATE_DIR": self.state, **self.fast, **(environment or {})})
        self.assertIn(message, errors)
        return errors

    def test_shows_what_the_compiler_says(self):
        self.header.write_text("wrong\n")
        module = self.directory / "letters.so"
        module.write_text("an older one")
        for command in (["build", self.job], ["run", "--local", self.job], ["info", self.job]):
            errors = self.refuses("letters.cc could not be built: ", *command)
            self.assertIn("letter.h:1:1: error: ", errors)
            self.assertRegex(errors, r"g\+\+(-\d+)? ended with exit code 1")
        self.assertEqual(module.read_text(), "an older one")
        self.assertEqual([path.name for path in self.directory.glob(".*")], [])
        self.assertEqual(list((self.state / ".modules").iterdir()), [])

    def test_names_sources_that_cannot_be_read(self):
        missing = self.directory / "nothing.cc"
        for command in ("build", "run", "info"):
            self.refuses(f"freshet: cannot read the source of the job: {missing}: No such file or directory", command, missing)
        missing.mkdir()
        self.refuses("cannot read the source of the job: ", "build", missing)
        self.refuses(f"{self.input} is not called like a C++ source", "build", self.input, code=2)
        self.refuses("FILE is required", "build", code=2)
        self.refuses("Flags of the compiler go behind '--': freshet build FILE -- FLAGS", "build", self.job, "-O3", code=2)

    def test_refuses_an_output_that_cannot_be_written(self):
        beyond = self.directory / "nowhere" / "m.so"
        self.refuses(f"freshet: cannot write the module {beyond}: ", "build", self.job, "-o", beyond)
        self.refuses(f"cannot write the module {self.sources}: something is there that is no file",
                     "build", self.job, "-o", self.sources)
        self.refuses("is a source of the job, which would be lost", "build", self.job, "-o", self.job, code=2)
        self.assertEqual(self.job.read_text(), JOB)
        self.assertEqual(sorted(path.name for path in self.sources.iterdir()), ["letter.h", "letters.cc"])

    def test_refuses_a_module_that_would_not_run(self):
        self.job.write_text("int answer() { return 42; }\n")
        self.refuses("letters.so: it is not a job module: it has no entry point", "build", self.job)
        self.assertFalse((self.directory / "letters.so").exists())
        self.refuses("it is not a job module", "run", "--local", self.job)
        self.job.write_text(JOB + "int undefined();\nint answer() { return undefined(); }\n")
        self.refuses("undefined", "build", self.job)
        self.job.write_text("#define FRESHET_ABI_REVISION 999\n" + JOB)
        self.refuses("it was built for another ABI", "build", self.job)

    def test_says_what_to_install_without_a_compiler(self):
        self.refuses("the compiler that CXX names cannot be used: nothing++ is not in PATH", "build", self.job,
                     environment={"CXX": "nothing++"})
        self.refuses("/bin/false is no compiler", "run", "--local", self.job, environment={"CXX": "/bin/false"})
        toolchain = self.prefix / "lib" / "freshet" / "toolchain"
        text = toolchain.read_text()
        self.addCleanup(toolchain.write_text, text)
        lines = [line for line in text.splitlines() if not line.startswith("compiler ")]
        toolchain.write_text("\n".join(["compiler g++-of-another-machine", *lines]) + "\n")
        self.refuses("there is no C++ compiler, neither g++-of-another-machine: install one with 'apt-get install g++'",
                     "build", self.job, environment={"CXX": None})
        toolchain.unlink()
        self.refuses("this installation does not say how jobs are built: ", "build", self.job)


if __name__ == "__main__":
    main()
