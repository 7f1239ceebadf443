#!/usr/bin/env python3
"""Runs shellcheck over every script of the tree. Skipped (77) where there is no shellcheck."""

import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77


def is_script(path):
    return path.is_file() and path.read_bytes().startswith(b"#!")


def main(root):
    program = shutil.which("shellcheck")
    if program is None:
        print("no shellcheck: install the group `extra` of scripts/packages")
        return SKIPPED
    files = [str(path) for folder in ("scripts", ".ci") for path in sorted((root / folder).iterdir()) if is_script(path)]
    return subprocess.run([program, "--external-sources", *files], cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
