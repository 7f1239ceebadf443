#!/usr/bin/env python3
"""Checks that the kept corpora reach every function of README.md's table, in the target that the table names, and that every
function of the runtime that is called like a decoder is in that table or in the list below it.

    tests/fuzz/coverage.py [--programs build/fuzz/bin] [--corpus tests/fuzz/corpus]
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # The tree stays as it is.
import run as run_targets

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LINE = re.compile(r"^(UN)?COVERED_FUNC: hits: \d+ edges: \d+/\d+ (.*) (\S+):\d+$")
LIKE_A_DECODER = re.compile(r"(^|::|\b)(decode|parse|from_proto|unescape|deserialize)\w*$")


def function_name(signature):
    """`freshet::Address::parse` of what a symbolizer says: without arguments, templates and unnamed namespaces."""
    name = re.sub(r"\(anonymous namespace\)::|\[abi:\w+\]", "", signature)
    depth, kept = 0, ""
    for character in name:
        if character == "(" and depth == 0:
            break
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            kept += character
    kept = kept.split(" ")[-1]
    return kept.removeprefix("freshet::")


def parse_coverage(text):
    """The functions of this tree that a run reached, and all that there are; each name with its file."""
    reached, known = set(), set()
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None or "freshet::" not in found[2]:
            continue
        path = found[3].rsplit("/../", 1)[-1]
        if path.startswith(("tests/", "/")):
            continue
        function = function_name(found[2])
        known.add((function, path))
        if found[1] is None:
            reached.add((function, path))
    return reached, known


def read_table(text):
    """Rows `| function | file | targets |` and `- function (file): why not`."""
    rows = re.findall(r"^\| `([\w:]+)` \| `([\w/.]+)` \| ([\w ,]+) \|$", text, re.MULTILINE)
    without = re.findall(r"^- `([\w:]+)` of `([\w/.]+)`", text, re.MULTILINE)
    return [(function, path, re.split(r", *", names)) for function, path, names in rows], set(without)


def check(rows, without, reached, known):
    """Findings as lines. `reached`: by target."""
    findings = []
    for function, path, targets in rows:
        if (function, path) not in known:
            findings.append(f"{path}: there is no function {function}; correct the table in tests/fuzz/README.md")
            continue
        for target in targets:
            if (function, path) not in reached.get(target, set()):
                findings.append(f"{path}: {function} is not reached from the corpus of {target}")
    listed = {(function, path) for function, path, _ in rows} | without
    for function, path in sorted(known - listed):
        if LIKE_A_DECODER.search(function):
            findings.append(f"{path}: {function} reads something; reach it from a target, and add it to tests/fuzz/README.md")
    return findings


def run(program, corpus):
    done = subprocess.run([program, "-runs=0", "-print_coverage=1", corpus], cwd="/", env=run_targets.ENVIRONMENT, capture_output=True,
                          text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{program.name} fails on its own corpus:\n{done.stderr[-3000:]}")
    return parse_coverage(done.stderr)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/fuzz/bin")
    parser.add_argument("--corpus", type=pathlib.Path, default=HERE / "corpus")
    options = parser.parse_args(arguments)
    targets = sorted(path.name for path in options.corpus.resolve().iterdir() if path.is_dir())
    reached, known = {}, set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        programs = [options.programs.resolve() / f"fuzz_{target}" for target in targets]
        corpora = [options.corpus.resolve() / target for target in targets]
        for target, (some, all_functions) in zip(targets, pool.map(run, programs, corpora)):
            reached[target] = some
            known |= all_functions
    rows, without = read_table((HERE / "README.md").read_text())
    findings = check(rows, without, reached, known)
    print("\n".join(findings) if findings else f"{len(rows)} functions are reached from {len(targets)} corpora")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
