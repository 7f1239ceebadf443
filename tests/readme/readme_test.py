#!/usr/bin/env python3
"""Executes what a README shows, and compares the output with what it shows.

A block after `<!-- run -->` is a console session: lines that begin with `$ ` are run by bash, one after the other in the
root of the repository; the lines below each are its output. Numbers and units of time may differ, `...` alone on a line
stands for any lines.
With `<!-- run exactly -->` numbers must be the same. A block after `<!-- printed by COMMAND -->` is not run here: whoever runs
the command compares what it printed.

readme_test.py README BUILD: uses the build in BUILD where the README says build/release.
readme_test.py --printed README COMMAND FILE: compares the block of COMMAND with what it printed, which is in FILE."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- run( exactly)? -->\n+```\w*\n(.*?)```", re.S)
PRINTED = re.compile(r"<!-- printed by ([^\n]+) -->\n+```\w*\n(.*?)```", re.S)
TIMEOUT_SECONDS = 240


def sessions(text):
    """Yields (exactly, [(command, expected lines)]) of each block."""
    for match in BLOCK.finditer(text):
        steps = []
        for line in match.group(2).splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps and steps[-1][0].endswith("\\"):
                steps[-1] = (steps[-1][0] + "\n" + line, [])
            elif steps:
                steps[-1][1].append(line.rstrip())
            else:
                raise SystemExit(f"a block begins with output: {line}")
        yield match.group(1) is not None, steps


def normal(line, exactly):
    line = re.sub(r"\s+", " ", line.strip())
    if exactly:
        return line
    line = re.sub(r"(?<![0-9a-zA-Z])[0-9a-f]{32}(?![0-9a-zA-Z])", "#", line)
    line = re.sub(r"\d+(?:[.,:]\d+)*", "#", line)
    return re.sub(r"# (us|ms|s|min|h)\b", "# time", line)


def matches(expected, actual):
    """Whether lines match, where `...` stands for any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[skipped:]) for skipped in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


def without_blank_ends(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def difference(expected, printed, exactly):
    """None, or what is wrong."""
    want = without_blank_ends([normal(line, exactly) for line in expected])
    have = without_blank_ends([normal(line, exactly) for line in printed.splitlines()])
    if matches(want, have):
        return None
    return f"printed:\n{printed}\nbut the README shows:\n" + "\n".join(expected)


def run_step(command, expected, exactly, build):
    """None, or what is wrong."""
    real = command.replace("build/release", str(build))
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", real], cwd=ROOT, text=True, timeout=TIMEOUT_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    shown = done.stdout.replace(str(build), "build/release")
    if done.returncode != 0:
        return f"$ {command}\nended with {done.returncode}:\n{shown}"
    wrong = difference(expected, shown, exactly)
    return None if wrong is None else f"$ {command}\n{wrong}"


def compare_printed(readme, command, file):
    blocks = [block for name, block in PRINTED.findall(pathlib.Path(readme).read_text()) if name == command]
    if len(blocks) != 1:
        print(f"{readme} has {len(blocks)} blocks that are printed by {command}, not one")
        return 1
    wrong = difference(blocks[0].splitlines(), pathlib.Path(file).read_text(), exactly=False)
    print(f"FAILED: {command}\n{wrong}" if wrong else f"{command} printed what {readme} shows")
    return 1 if wrong else 0


def main(readme, build):
    readme, build = pathlib.Path(readme).resolve(), pathlib.Path(build).resolve()
    failures, count = [], 0
    for exactly, steps in sessions(readme.read_text()):
        for command, expected in steps:
            count += 1
            print(f"$ {command}", flush=True)
            failure = run_step(command, expected, exactly, build)
            if failure is not None:
                failures.append(failure)
    for failure in failures:
        print(f"\nFAILED: {failure}")
    print(f"{count} commands of {readme.name}, {len(failures)} failed")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--printed"]:
        sys.exit(compare_printed(*sys.argv[2:]))
    sys.exit(main(*sys.argv[1:]))
