#!/usr/bin/env python3
"""How run_tests.py counts, and what it prints at the end."""

import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import run_tests


def counted(entry, cases=None):
    """The tally of one ctest entry, with the report of a GoogleTest program if it wrote one."""
    tally = run_tests.Tally()
    element = ElementTree.fromstring(entry)
    with tempfile.TemporaryDirectory() as directory:
        if cases is not None:
            report = {"testsuites": [{"testsuite": cases, "name": "Suite"}]}
            pathlib.Path(directory, f"{element.get('name')}.json").write_text(json.dumps(report))
        run_tests.count_cases(element, "release", pathlib.Path(directory), tally)
    return tally


class RunTestsTest(unittest.TestCase):
    def test_counts_single_cases(self):
        cases = [{"name": "A", "result": "COMPLETED"}, {"name": "B", "result": "SKIPPED"},
                 {"name": "C", "result": "COMPLETED", "failures": [{}]}]
        tally = counted('<testcase name="x_test" status="fail"/>', cases)
        self.assertEqual(list(tally.lines()), [
            "skipped: release: x_test: Suite.B", "FAILED: release: x_test: Suite.C", "1 skipped", "1 passed, 1 failed"])

    def test_counts_a_program_that_crashed(self):
        tally = counted('<testcase name="x_test" status="fail"/>', [{"name": "A", "result": "COMPLETED"}])
        self.assertEqual(tally.failed, ["release: x_test"])

    def test_counts_what_was_not_built_as_failed(self):
        tally = counted('<testcase name="x" status="notrun"><skipped message="Unable to find executable: x"/></testcase>')
        self.assertEqual(list(tally.lines()), ["FAILED: release: x", "0 passed, 1 failed"])

    def test_ends_with_passed_and_failed_and_nothing_else(self):
        tally = counted('<testcase name="x" status="run"/>')
        self.assertEqual(list(tally.lines()), ["1 passed, 0 failed"])
        tally = counted('<testcase name="x" status="notrun"><skipped message="77"/></testcase>')
        self.assertEqual(list(tally.lines()), ["skipped: release: x", "1 skipped", "0 passed, 0 failed"])


if __name__ == "__main__":
    unittest.main()
