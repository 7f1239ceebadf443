#!/usr/bin/env python3
"""Installs Freshet, and builds and runs jobs outside of this tree.

install_test.py BUILD: what is installed is what BUILD has."""

import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from installation import InstallationTest, PROJECT, install, run


class InstalledTest(InstallationTest):
    """One prefix for all, moved once, so that nothing can depend on where it was made."""

    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="freshet-prefix-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        install(BUILD, cls.home / "first")
        cls.prefix = (cls.home / "first").rename(cls.home / "moved")
        cls.binary = cls.prefix / "bin" / "freshet"

    def headers(self):
        root = self.prefix / "include" / "freshet"
        return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.h"))

    def test_a_project_builds_its_job_and_runs_it_on_a_cluster(self):
        project = self.directory / "project"
        shutil.copytree(PROJECT, project)
        (project / "every_header.cc").write_text("".join(f'#include "{header}"\n' for header in self.headers()))
        self.run_ok(["cmake", "-S", project, "-B", project / "build"], environment={"CMAKE_PREFIX_PATH": self.prefix})
        self.run_ok(["cmake", "--build", project / "build"])
        module = project / "build" / "jobs" / "initials.so"
        self.count_initials(self.binary, module, "--local")
        cluster = self.start_cluster(self.binary)
        self.count_initials(self.binary, module, *cluster, "-p", "2")

    def test_only_headers_that_jobs_reach_are_installed(self):
        headers = self.headers()
        self.assertIn("runtime/api/job.h", headers)
        self.assertIn("runtime/testing/operator_harness.h", headers)
        folders = {header.rsplit("/", 1)[0] for header in headers}
        self.assertLessEqual(folders, {"runtime/api", "runtime/base", "runtime/connectors", "runtime/graph",
                                       "runtime/operators", "runtime/testing", "state"})
        self.assertEqual([header for header in headers if header.endswith(".pb.h")], [])

    def test_nothing_names_the_tree_it_was_built_in(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.suffix not in (".h", ".so"):  # The library's debug information may.
                self.assertNotIn(str(source).encode(), path.read_bytes(), path)
        shown = run(["readelf", "-d", self.binary]).stdout
        self.assertEqual(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown), ["$ORIGIN/../lib"])
        self.assertTrue((self.prefix / "share" / "doc" / "freshet" / "copyright").is_file())


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
