#!/usr/bin/env python3
"""Every rule of tidy.py must find the snippet that breaks it, at its line, and nothing in a clean tree."""

import pathlib
import tempfile
import unittest

import source_text
import tidy

CLEAN = {
    "CMakeLists.txt": "",
    "network/CMakeLists.txt": "freshet_library(network SOURCES frame.cc)\n",
    "network/README.md": "# network\n",
    "network/frame.h": "#pragma once\n\n/// open() is only named here, as is std::thread.\nclass Frame {\n  int open(int);\n};\n",
    "network/frame.cc": '#include "network/frame.h"\n\n#include "runtime/base/status.h"\n\nint Frame::open(int x) { return x; }\n',
    "examples/README.md": "# examples\n",
    "tests/README.md": "# tests\n",
    "tests/unit/README.md": "# tests/unit\n",
    "tests/unit/network/CMakeLists.txt": "freshet_test(t SOURCES frame_test.cc)\n",
    "tests/unit/network/frame_test.cc": '#include "network/frame.h"\n',
}


def findings(files):
    with tempfile.TemporaryDirectory() as root:
        for name, content in {**CLEAN, **files}.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tidy.check_tree(root).findings


class TidyTest(unittest.TestCase):
    def expect(self, rule, path, content, line=1, **others):
        """Adds a file to the clean tree and expects exactly one finding, of this rule, at this line."""
        found = findings({path: content, **others.get("files", {})})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: {rule}: "), found[0])

    def header(self, *lines):
        return "#pragma once\n" + "".join(line + "\n" for line in lines)

    def test_finds_nothing_in_a_clean_tree(self):
        self.assertEqual(findings({}), [])

    def abi(self, header, value):
        return {
            "runtime/README.md": "x\n",
            "runtime/api/README.md": "x\n",
            "runtime/base/README.md": "x\n",
            "runtime/api/job.h": self.header('#include "runtime/api/abi.h"', '#include "runtime/base/seen.h"'),
            "runtime/api/abi.h": self.header(f"#define FRESHET_ABI_HEADERS {value}"),
            "runtime/base/seen.h": header,
            "runtime/base/unseen.h": self.header("// No module sees it."),
        }

    def wanted_abi(self, header):
        found = findings(self.abi(header, "0"))
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("runtime/api/abi.h:2: abi: "), found[0])
        return found[0].rsplit(" ", 1)[1]

    def test_hash_of_public_headers(self):
        header = self.header("struct Seen { int a; };  // One.")
        value = self.wanted_abi(header)
        self.assertEqual(findings(self.abi(header, value)), [])
        same = self.header("/// Two.", "struct Seen {", "  int a;", "};")
        self.assertNotEqual(self.wanted_abi(same), "")
        self.assertEqual(findings({**self.abi(header, value), "runtime/base/unseen.h": self.header("int x;")}), [])
        self.assertNotEqual(self.wanted_abi(self.header("struct Seen { long a; };")), value)
        self.assertEqual(self.wanted_abi(self.header("struct Seen { int a; };  /* Two. */")), value)

    def test_arrow_between_modules(self):
        self.expect("arrow", "network/bad.h", self.header('#include "shuffle/buffer.h"'), 2)

    def test_arrow_from_jobmanager_to_taskmanager(self):
        readme = {"jobmanager/README.md": "x\n"}
        self.expect("arrow", "jobmanager/bad.h", self.header('#include "taskmanager/slots.h"'), 2, files=readme)

    def test_arrow_from_product_to_tests(self):
        self.expect("arrow", "network/bad.h", self.header('#include "tests/sim/sim_world.h"'), 2)

    def test_arrow_from_a_job(self):
        self.expect("arrow", "examples/x/bad.h", self.header('#include "runtime/task/stream_task.h"'), 2)

    def test_commented_include_is_no_arrow(self):
        self.assertEqual(findings({"network/good.h": self.header('// #include "shuffle/buffer.h"')}), [])

    def test_protobuf_in_a_header(self):
        files = {"jobmanager/README.md": "x\n"}
        self.expect("pb-in-header", "jobmanager/bad.h", self.header('#include "runtime/proto/control.pb.h"'), 2, files=files)

    def test_asio_outside_its_file(self):
        self.expect("asio", "network/bad.h", self.header("#include <asio.hpp>"), 2)

    def test_rocksdb_outside_state(self):
        self.expect("rocksdb", "network/bad.h", self.header("#include <rocksdb/db.h>"), 2)

    def test_yaml_outside_its_file(self):
        self.expect("yaml", "network/bad.h", self.header("#include <yaml-cpp/yaml.h>"), 2)

    def test_include_without_path(self):
        self.expect("include-path", "network/bad.h", self.header('#include "frame.h"'), 2)

    def test_own_header_comes_first(self):
        files = {"network/bad.h": self.header(), "network/CMakeLists.txt": "x(frame.cc bad.cc)\n"}
        self.expect("own-header-first", "network/bad.cc", '#include <map>\n#include "network/bad.h"\n', files=files)

    def test_header_without_pragma(self):
        self.expect("pragma-once", "network/bad.h", "class A;\n")

    def test_long_function(self):
        body = ["  x();"] * tidy.FUNCTION_LINES_MAX
        self.expect("function-length", "network/bad.h", self.header("inline void f() {", *body, "}"), 2)

    def test_long_member_of_a_template(self):
        body = ["  if (a) { b(); }"] * tidy.FUNCTION_LINES_MAX
        text = self.header("template <class T>", "class A {", " public:", "  void f() const {", *body, "  }", "};")
        self.expect("function-length", "network/bad.h", text, 5)

    def test_long_class_is_no_function(self):
        members = ["  int f() { return 1; }"] * 100
        self.assertEqual(findings({"network/good.h": self.header('class A("x") B {', *members, "};")}), [])

    def test_long_file(self):
        self.expect("file-length", "network/bad.h", self.header(*["int x;"] * tidy.FILE_LINES_MAX))

    def test_banned_names(self):
        for code in ["std::chrono::system_clock::now();", "std::chrono::steady_clock::now();", "std::thread t;",
                     "std::this_thread::sleep_for(1ms);", "std::random_device d;", "int x = rand();",
                     'std::getenv("HOME");', "std::ofstream out;", "int fd = open(path, 0);", "::open(path, 0);",
                     "return open(path, 0);", "::mmap(nullptr, 1);"]:
            with self.subTest(code):
                self.expect("banned", "network/bad.h", self.header("", code), 3)

    def test_banned_names_are_free_where_the_machine_is_met(self):
        self.assertEqual(findings({"network/asio_x.h": self.header("std::thread t;")}), [])

    def test_vague_file_name(self):
        for name in ["network/frame_utils.h", "network/frame_helpers.h", "network/frame_common.h"]:
            with self.subTest(name):
                self.expect("name", name, self.header())

    def test_test_that_is_not_built(self):
        self.expect("test-not-built", "tests/unit/network/lost_test.cc", "int x;\n")

    def test_source_that_is_not_built(self):
        self.expect("source-not-built", "network/lost.cc", "int x;\n")

    def test_name_that_only_ends_alike_is_not_built(self):
        self.expect("source-not-built", "network/ame.cc", "int x;\n")

    def test_todo_without_number(self):
        self.expect("todo", "network/bad.h", self.header("// TO" "DO: later"), 2)
        self.assertEqual(findings({"network/good.h": self.header("// TO" "DO(#12): later")}), [])

    def test_missing_readme(self):
        found = findings({"shuffle/buffer.h": self.header()})
        self.assertEqual([finding.split(": ")[:2] for finding in found], [["shuffle/README.md:1", "readme"]])

    def test_missing_readme_of_a_folder_without_code(self):
        found = findings({"scripts/x": "", "tests/new/testdata/x.txt": "", "runtime/base/deep/x.txt": "", ".ci/run": ""})
        self.assertEqual([finding.split(":")[0] for finding in found],
                         ["runtime/README.md", "runtime/base/README.md", "scripts/README.md", "tests/new/README.md"])

    def test_long_line(self):
        self.expect("columns", "network/bad.h", self.header("// " + "x" * 98), 2)

    def test_words_of_the_workplace(self):
        self.expect("workplace", "network/notes.md", "see /wo" "rk/shared/x\n")

    def test_raw_strings_and_digit_separators_do_not_confuse(self):
        code = 'auto a = R"(} " {)";\nint b = 1\'000\'000;\nvoid f() {\n}\n'
        self.assertEqual(list(source_text.functions(source_text.blank(code))), [(3, "f", 2)])


if __name__ == "__main__":
    unittest.main()
