#!/usr/bin/env python3
"""Checks what reviewers should not have to: include arrows, sizes, banned names, and that every test is built.

tidy.py TREE prints `file:line: rule: what to do` for each finding and ends with 1 if there is one."""

import hashlib
import pathlib
import re
import sys

import source_text

COLUMNS = 100
FUNCTION_LINES_AIM, FUNCTION_LINES_MAX = 40, 70
FILE_LINES_AIM, FILE_LINES_MAX = 200, 600

MODULES = [
    "runtime/base", "runtime/proto", "runtime/graph", "runtime/operators", "runtime/connectors", "runtime/task",
    "runtime/metrics", "runtime/api", "runtime/rest", "runtime/app", "runtime/chaos", "runtime/cli", "runtime/testing", "network", "state/snapshot", "state", "shuffle",
    "jobmanager", "taskmanager",
]
EVERYTHING = set(MODULES)

# What a module may include besides itself and runtime/base.
ARROWS = {
    "runtime/base": set(),
    "runtime/proto": set(),
    "runtime/metrics": set(),
    "network": set(),
    "runtime/graph": {"runtime/proto"},
    "state/snapshot": {"runtime/proto"},
    "state": {"state/snapshot"},
    "shuffle": {"network"},
    "runtime/operators": {"runtime/graph", "state"},
    "runtime/connectors": {"runtime/graph", "runtime/operators", "state"},
    "runtime/task": {"runtime/graph", "runtime/operators", "state", "shuffle"},
    "runtime/api": {"runtime/graph", "runtime/operators", "runtime/connectors", "state", "runtime/proto"},
    "jobmanager": {"runtime/graph", "runtime/proto", "runtime/metrics", "network", "state/snapshot"},
    "taskmanager": {"runtime/graph", "runtime/proto", "runtime/metrics", "network", "runtime/task", "runtime/operators", "state", "shuffle"},
    "runtime/rest": {"runtime/graph", "runtime/metrics", "network", "jobmanager"},
    "runtime/app": EVERYTHING - {"runtime/chaos", "runtime/cli"},
    "runtime/chaos": EVERYTHING - {"runtime/cli"},
    "runtime/cli": EVERYTHING,
    "runtime/testing": EVERYTHING - {"runtime/app", "runtime/chaos", "runtime/cli"},
}
# Interfaces that reach further than their module.
FREE_HEADERS = {"runtime/connectors": {"network/transport.h"}}
YAML_READERS = ("runtime/cli/settings_file.cc", "runtime/chaos/fault_plan_file.cc")
JOB_HEADERS = ("runtime/api/", "runtime/connectors/")

# Where time, chance, threads and files of the machine may be touched. Tests named here are about real ones.
MACHINE = ("runtime/base/", "tests/unit/base/", "network/asio_", "runtime/rest/request_threads", "runtime/rest/httplib_server", "tests/integration/", "tests/contract/", "tests/bench/")
BANNED = [
    (r"\bsystem_clock::now", "take a Clock"),
    (r"\bsteady_clock::now", "take a Clock"),
    (r"\bsleep_for\b", "schedule on an Executor; tests wait on conditions"),
    (r"\bstd::j?thread\b", "take an Executor"),
    (r"\brandom_device\b", "take a Random"),
    (r"(?<![\w.>])s?rand\s*\(", "take a Random"),
    (r"\bgetenv\b", "hand it in as an option"),
    (r"\bofstream\b", "take a FileSystem"),
    (r"(?<![\w:])::open\s*\(", "take a FileSystem"),
    (r"\bmmap\b", "take a FileSystem"),
]
BARE_OPEN = re.compile(r"(?<![\w.:>])open\s*\(")
# Pieces, so that this file does not find itself.
WORKPLACE = re.compile("|".join([
    r"/wo" r"rk/(?:main|shared|\.library)\b", r"/tmp/pl" r"an\b", r"\bsub" r"agents?\b", r"\bhouse" r"-style\b",
    r"\bdesign" r"\.md\b", r"\bissues? sh" r"ow\b",
]))
# What is installed (cmake/FreshetInstall.cmake): these, folders with all of theirs, and what they include.
PUBLIC_ROOTS = ("runtime/api/job.h", "runtime/connectors/", "runtime/testing/")
ABI_HEADER = "runtime/api/abi.h"
ABI_HEADERS = re.compile(r"^(#define FRESHET_ABI_HEADERS )(\S*)", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


class Tree:
    """The files of a checkout, and what is wrong with them."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.findings = []
        self.above_aim = {"functions": 0, "files": 0}
        self.paths = sorted(
            path.relative_to(self.root).as_posix()
            for path in self.root.rglob("*")
            if path.is_file() and not path.relative_to(self.root).parts[0] in (".git", "build", "Testing", ".cache")
            and "__pycache__" not in path.parts
        )

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def report(self, path, line, rule, advice):
        self.findings.append(f"{path}:{line}: {rule}: {advice}")


def module_of(path):
    matching = [module for module in MODULES if path.startswith(module + "/")]
    return max(matching, key=len) if matching else None


def check_arrow(tree, path, line, target):
    """`target` is a path from the root of the tree."""
    if path.startswith("examples/"):
        if not target.startswith(JOB_HEADERS + ("examples/", "runtime/testing/")) and module_of(target):
            tree.report(path, line, "arrow", f"a job may include only runtime/api and runtime/connectors, not {target}")
        return
    source, reached = module_of(path), module_of(target)
    if source is None or reached is None:
        if source is not None and target.startswith(("tests/", "examples/")):
            tree.report(path, line, "arrow", f"product code must not include {target}")
        return
    if reached in (source, "runtime/base") or target in FREE_HEADERS.get(source, ()):
        return
    if reached not in ARROWS[source]:
        tree.report(path, line, "arrow", f"{source} must not include {reached} ({target})")


def check_includes(tree, path, text):
    code = source_text.blank(text, keep_strings=True)
    includes = [(source_text.line_of(code, m.start()), m.group(1), m.group(2)) for m in INCLUDE.finditer(code)]
    for line, quote, target in includes:
        if quote == '"' and "/" not in target and not target.endswith(".pb.h"):  # A job's own messages.
            tree.report(path, line, "include-path", f'write the path of "{target}" from the root of the tree')
        if target.endswith(".pb.h") and path.endswith(".h") and not path.startswith("tests/"):
            tree.report(path, line, "pb-in-header", "declare the message; include its header in the .cc file")
        if target.startswith("asio") and not re.match(r"network/asio_\w+\.cc$", path):
            tree.report(path, line, "asio", "Asio is included by network/asio_*.cc only; use Transport")
        if target.startswith("rocksdb/") and not path.startswith("state/"):
            tree.report(path, line, "rocksdb", "RocksDB is included below state/ only")
        if target.startswith("yaml-cpp/") and path not in YAML_READERS:
            tree.report(path, line, "yaml", f"yaml-cpp is included by {' and '.join(YAML_READERS)} only")
        check_arrow(tree, path, line, target)
    own = path[:-3] + ".h"
    if path.endswith(".cc") and own in tree.paths and (not includes or includes[0][2] != own):
        tree.report(path, includes[0][0] if includes else 1, "own-header-first", f'begin with #include "{own}"')
    if path.endswith(".h") and "#pragma once" not in text:
        tree.report(path, 1, "pragma-once", "begin with #pragma once")


def check_sizes(tree, path, text):
    lines = text.count("\n")
    tree.above_aim["files"] += lines > FILE_LINES_AIM
    if lines > FILE_LINES_MAX:
        tree.report(path, 1, "file-length", f"{lines} lines, at most {FILE_LINES_MAX}; one concept per file")
    for line, name, length in source_text.functions(source_text.blank(text)):
        tree.above_aim["functions"] += length > FUNCTION_LINES_AIM
        if length > FUNCTION_LINES_MAX:
            tree.report(path, line, "function-length", f"{name} has {length} lines, at most {FUNCTION_LINES_MAX}")


def check_banned(tree, path, text):
    if path.startswith(MACHINE):
        return
    for number, line in enumerate(source_text.blank(text).splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for pattern, advice in BANNED:
            if match := re.search(pattern, line):
                tree.report(path, number, "banned", f"{match.group(0).strip()}: {advice}")
        for match in BARE_OPEN.finditer(line):
            before = line[: match.start()].rstrip()
            is_declaration = re.search(r"[\w>&*]$", before) and not re.search(r"\breturn$", before)
            if not is_declaration:
                tree.report(path, number, "banned", "open(: take a FileSystem")


def check_lines(tree, path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS and path.endswith((".h", ".cc", ".proto")):
            tree.report(path, number, "columns", f"{len(line)} columns, at most {COLUMNS}; run clang-format")
        if WORKPLACE.search(line):
            tree.report(path, number, "workplace", "names something that is not part of this repository")
        if re.search(r"\bTO" r"DO\b(?!\(#\d+\))|\bFIX" r"ME\b", line) and path.endswith((".h", ".cc", ".py")):
            tree.report(path, number, "todo", "write TO" "DO(#number): or do it")


def check_name(tree, path):
    if re.search(r"_(utils?|helpers?|common)\.\w+$", path):
        tree.report(path, 1, "name", "name the file after the one concept in it")


def check_is_built(tree, path):
    """A source must stand in the CMakeLists.txt of its folder or of one above."""
    if "/testdata/" in path:
        return
    folder = pathlib.PurePosixPath(path).parent
    for above in [folder, *folder.parents]:
        lists = (above / "CMakeLists.txt").as_posix()
        if lists in tree.paths:
            name = pathlib.PurePosixPath(path).relative_to(above).as_posix()
            if re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w.-])", tree.read(lists)):
                return
    rule = "test-not-built" if path.endswith("_test.cc") else "source-not-built"
    tree.report(path, 1, rule, "list it in the CMakeLists.txt of its folder")


def check_readmes(tree):
    """Each folder at the top has one, and each one directly in runtime/ and tests/."""
    folders = set()
    for path in tree.paths:
        parts = path.split("/")[:-1]
        if parts and not parts[0].startswith("."):
            folders.add(parts[0])
            if parts[0] in ("runtime", "tests") and len(parts) > 1 and parts[1] != "__pycache__":
                folders.add("/".join(parts[:2]))
    for folder in sorted(folders):
        if f"{folder}/README.md" not in tree.paths:
            tree.report(f"{folder}/README.md", 1, "readme", "say what the folder is for, what is in it, what it must not know")


def public_headers(tree):
    waiting = [path for path in tree.paths if path.endswith(".h") and path.startswith(PUBLIC_ROOTS)]
    found = set()
    while waiting:
        path = waiting.pop()
        if path in found or path not in tree.paths:
            continue
        found.add(path)
        code = source_text.blank(tree.read(path), keep_strings=True)
        waiting.extend(match.group(2) for match in INCLUDE.finditer(code) if match.group(1) == '"')
    return sorted(found)


def hash_of_public_headers(tree):
    """Of all that a compiler sees of them: neither comments nor line breaks count."""
    digest = hashlib.sha256()
    for path in public_headers(tree):
        code = source_text.blank(tree.read(path), keep_strings=True)
        code = ABI_HEADERS.sub(r"\1", code) if path == ABI_HEADER else code
        digest.update(f"{path}\0{' '.join(code.split())}\0".encode())
    return f"0x{digest.hexdigest()[:8]}u"


def check_abi(tree):
    """Modules carry the hash of the headers that they were built with, so that no change of one is forgotten."""
    if ABI_HEADER not in tree.paths:
        return
    text = tree.read(ABI_HEADER)
    written, wanted = ABI_HEADERS.search(text), hash_of_public_headers(tree)
    if written is None or written.group(2) != wanted:
        line = source_text.line_of(text, written.start()) if written else 1
        tree.report(ABI_HEADER, line, "abi", f"public headers have changed: #define FRESHET_ABI_HEADERS {wanted}")


def check_tree(root):
    tree = Tree(root)
    for path in tree.paths:
        if not path.endswith((".h", ".cc", ".proto", ".py", ".md", ".txt", ".cmake")) and "scripts/" not in path:
            continue
        text = tree.read(path)
        check_lines(tree, path, text)
        check_name(tree, path)
        if path.endswith((".h", ".cc")):
            check_includes(tree, path, text)
            check_sizes(tree, path, text)
            check_banned(tree, path, text)
        if path.endswith(".cc"):
            check_is_built(tree, path)
    check_readmes(tree)
    check_abi(tree)
    return tree


def main(arguments):
    tree = check_tree(arguments[0])
    for finding in tree.findings:
        print(finding)
    print(f"{len(tree.findings)} findings in {len(tree.paths)} files; above the aims: "
          f"{tree.above_aim['functions']} functions of more than {FUNCTION_LINES_AIM} lines, "
          f"{tree.above_aim['files']} files of more than {FILE_LINES_AIM}")
    return 1 if tree.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
