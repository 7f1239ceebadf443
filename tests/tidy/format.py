#!/usr/bin/env python3
"""Checks that every source file is as clang-format would write it. Skipped (77) where there is no clang-format."""

import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
FOLDERS = ["examples", "jobmanager", "network", "runtime", "shuffle", "state", "taskmanager", "tests"]


def main(root):
    program = shutil.which("clang-format-14")
    if program is None:
        print("no clang-format-14: install the group `extra` of scripts/packages")
        return SKIPPED
    files = [str(path) for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".cc", ".h")]
    return subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *files], cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
