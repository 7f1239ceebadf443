#!/usr/bin/env python3
"""catalogue.py must find the row that promises what is not there, and nothing in one that is true."""

import pathlib
import tempfile
import unittest

import catalogue

SOURCE = '''TEST_F(DoorTest, StaysShut) {}
TYPED_TEST(WallTest, Stands) {}
return refused(fmt::format("the door is shut since {}; "
                           "knock again", time));
'''


class CatalogueTest(unittest.TestCase):
    def findings(self, *rows):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "build").mkdir()
            pathlib.Path(root, "build", "old.cc").write_text("TEST(OldTest, IsGone) {}\n")
            pathlib.Path(root, "door_test.cc").write_text(SOURCE)
            head = ["| what is wrong | what happens | test |", "| --- | --- | --- |"]
            return catalogue.check(catalogue.Sources(root), "doc.md", "\n".join([*head, *rows]))

    def test_true_rows(self):
        self.assertEqual(self.findings(
            "| late | `the door is shut since ...; knock again` | `DoorTest.StaysShut`, `WallTest.Stands` |",
            "| early | nothing | `DoorTest.StaysShut` |"), [])

    def test_unknown_test(self):
        self.assertEqual(self.findings("| old | nothing | `OldTest.IsGone` |"),
                         ["doc.md:3: unknown test: there is no OldTest.IsGone"])

    def test_no_test(self):
        self.assertEqual(self.findings("| late | nothing | by eye |"), ["doc.md:3: no test: name one"])

    def test_unknown_words(self):
        self.assertEqual(self.findings("| late | `the door is shut since ...; go away` | `DoorTest.StaysShut` |"),
                         ["doc.md:3: unknown words: no source says '; go away'"])

    def test_cells(self):
        self.assertEqual(self.findings("| late | `DoorTest.StaysShut` |"),
                         ["doc.md:3: cells: a row has three, this one 2"])

    def test_no_rows(self):
        self.assertEqual(self.findings(), ["doc.md:1: no rows: a catalogue has some"])


if __name__ == "__main__":
    unittest.main()
