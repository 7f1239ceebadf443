#!/usr/bin/env python3
"""Builds and runs a job in a CMake project of its own, and looks at what is installed.

install_test.py BUILD"""

import pathlib
import re
import shutil

from installation import InstallationTest, PROJECT, main, run


class InstallTest(InstallationTest):
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
        source = str(pathlib.Path(__file__).resolve().parents[2])
        for path in self.prefix.rglob("*"):
            if path.is_file() and not path.read_bytes().startswith(b"\x7fELF"):  # Their debug information may.
                self.assertNotIn(source, path.read_text(), path)
        shown = run(["readelf", "-d", self.binary]).stdout
        self.assertEqual(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown), ["$ORIGIN/../lib"])
        self.assertTrue((self.prefix / "share" / "doc" / "freshet" / "copyright").is_file())


if __name__ == "__main__":
    main()
