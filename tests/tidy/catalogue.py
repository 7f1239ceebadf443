#!/usr/bin/env python3
"""Checks that each row of a catalogue names tests that exist, and messages whose fixed words stand in the sources.

catalogue.py TREE [DOCUMENT] prints `file:line: rule: what to do` for each finding and ends with 1 if there is one. A row is
`| what is wrong | what happens | tests |`; in a message of the second cell, `...` stands for what differs."""

import pathlib
import re
import sys

DOCUMENT = "BAD_INPUT.md"
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
JOINED = re.compile(r'"\s*\n\s*"')  # A literal that goes on in the next line.
NAMED = re.compile(r"`([^`]+)`")


class Sources:
    """What the C++ below a tree says."""

    def __init__(self, root):
        paths = sorted(
            path for path in pathlib.Path(root).rglob("*")
            if path.suffix in (".cc", ".h") and path.relative_to(root).parts[0] != "build")
        texts = [path.read_text(encoding="utf-8") for path in paths]
        self.tests = {".".join(match) for text in texts for match in TEST.findall(text)}
        self.words = "\n".join(JOINED.sub("", text) for text in texts)

    def missing_words(self, message):
        """The first piece between dots that no source has."""
        pieces = (piece.strip() for piece in message.split("..."))
        return next((piece for piece in pieces if piece and piece not in self.words), None)


def check(sources, name, text):
    findings, rows = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| ---", "| what is wrong |")):
            continue
        rows += 1
        place = f"{name}:{number}"
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) != 3:
            findings.append(f"{place}: cells: a row has three, this one {len(cells)}")
            continue
        tests = NAMED.findall(cells[2])
        if not tests:
            findings.append(f"{place}: no test: name one")
        findings += [f"{place}: unknown test: there is no {test}" for test in tests if test not in sources.tests]
        for message in NAMED.findall(cells[1]):
            missing = sources.missing_words(message)
            if missing is not None:
                findings.append(f"{place}: unknown words: no source says '{missing}'")
    if rows == 0:
        findings.append(f"{name}:1: no rows: a catalogue has some")
    return findings


def main():
    root = pathlib.Path(sys.argv[1])
    document = sys.argv[2] if len(sys.argv) > 2 else DOCUMENT
    findings = check(Sources(root), document, (root / document).read_text(encoding="utf-8"))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
