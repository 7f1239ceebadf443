#!/usr/bin/env python3
"""Makes the Debian package, looks into it, and runs a job with what it unpacks to.

package_test.py BUILD"""

import re
import stat

from installation import InstallationTest, JOB, LETTER_H, main, run


class PackageTest(InstallationTest):
    @classmethod
    def make_prefix(cls):
        done = run(["cpack", "-G", "DEB", "--config", cls.build / "CPackConfig.cmake", "-B", cls.home / "packages"])
        packages = list((cls.home / "packages").glob("*.deb"))
        if done.returncode != 0 or len(packages) != 1:
            raise SystemExit(f"cpack made {packages}:\n{done.stdout}{done.stderr}")
        cls.package = packages[0]
        unpacked = run(["dpkg-deb", "-x", cls.package, cls.home / "root"])
        if unpacked.returncode != 0:
            raise SystemExit(unpacked.stderr)
        cls.prefix = cls.home / "root" / "usr"

    def field(self, name):
        return self.run_ok(["dpkg-deb", "-f", self.package, name]).stdout.strip()

    def test_says_what_it_is_and_needs(self):
        version = self.run_ok([self.binary, "--version"]).stdout.split()[1]
        self.assertEqual(self.field("Version"), version)
        self.assertRegex(self.package.name, rf"^freshet_{re.escape(version)}_\w+\.deb$")
        needed = {one.split()[0] for one in self.field("Depends").split(", ")}
        self.assertLessEqual({"libc6", "libfmt9", "libprotobuf32", "libstdc++6", "libyaml-cpp0.7"}, needed)
        self.assertEqual([name for name in needed if name.endswith("-dev") or name.startswith("g++")], [])
        self.assertRegex(self.field("Recommends"), r"^g\+\+-\d+ \| g\+\+, libfmt-dev, libexpected-dev, libboost1.81-dev$")

    def test_holds_nothing_that_others_can_change_and_no_debug_information(self):
        paths = [path for path in self.prefix.rglob("*") if not path.is_symlink()]
        self.assertEqual([path for path in paths if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)], [])
        self.assertEqual(sorted(path.name for path in self.prefix.iterdir()), ["bin", "include", "lib", "share"])
        for file in (self.binary, self.prefix / "lib" / "libfreshet.so"):
            self.assertNotIn(".debug_info", self.run_ok(["readelf", "-S", "--wide", file]).stdout, file)

    def test_runs_a_job_from_where_it_was_unpacked(self):
        job = self.directory / "letters.cc"
        job.write_text(JOB)
        (self.directory / "letter.h").write_text(LETTER_H % 1)
        self.count_initials(self.binary, job, "--local")
        cluster = self.start_cluster(self.binary)
        self.count_initials(self.binary, job, *cluster, "-p", "2")


if __name__ == "__main__":
    main()
