#!/usr/bin/env python3
"""Builds presets, runs their tests and counts single cases. Called by scripts/test, which explains the options."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORE_LABELS = "unit|contract|sim"
NOT_BY_DEFAULT = "long|external"


class Tally:
    """Counts of cases, and the names of those that failed or were skipped."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def lines(self):
        """What is printed at the end. The last line is always `N passed, N failed`."""
        yield from (f"skipped: {name}" for name in self.skipped)
        yield from (f"FAILED: {name}" for name in self.failed)
        if self.skipped:
            yield f"{len(self.skipped)} skipped"
        yield f"{self.passed} passed, {len(self.failed)} failed"


def jobs():
    """Compilers take up to 2 GiB each."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 30)
    return max(1, min(len(os.sched_getaffinity(0)), memory_gib // 2))


def heading(text):
    print(f"\n== {text}", flush=True)


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, **options).returncode == 0


def build(preset, target, tally):
    """True when the target is there. A build that fails counts as one failed case."""
    heading(f"{preset}: build")
    started = time.monotonic()
    directory = ROOT / "build" / preset
    # Configured afresh each time, in a second: a file that was forgotten must not survive in the cache.
    ok = run(["cmake", "--preset", preset, "--log-level=WARNING"], stdout=subprocess.DEVNULL) and run(
        ["ninja", "-C", str(directory), "-j", str(jobs()), target],
        env={**os.environ, "NINJA_STATUS": f"[{preset} %f/%t %es] "},
    )
    print(f"{preset}: built in {time.monotonic() - started:.0f} s", flush=True)
    if not ok:
        tally.failed.append(f"{preset}: build of {target}")
    return ok


def count_cases(entry, preset, results, tally):
    """Adds one ctest entry: the cases of a GoogleTest program, or the entry itself."""
    name = entry.get("name")
    status = entry.get("status")
    report = results / f"{name}.json"
    failed_before = len(tally.failed)
    if report.exists():
        for suite in json.loads(report.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                full = f"{preset}: {name}: {suite['name']}.{case['name']}"
                if case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                    tally.skipped.append(full)
                elif case.get("failures"):
                    tally.failed.append(full)
                else:
                    tally.passed += 1
    elif status == "run":
        tally.passed += 1
    elif status in ("notrun", "disabled") and entry.find("skipped") is not None and not is_missing(entry):
        tally.skipped.append(f"{preset}: {name}")
    if status == "fail" or is_missing(entry):
        if len(tally.failed) == failed_before:  # It crashed, hung, or said so only by its exit code.
            tally.failed.append(f"{preset}: {name}")


def is_missing(entry):
    skipped = entry.find("skipped")
    return skipped is not None and "Unable to find executable" in (skipped.get("message") or "")


def test(preset, selection, tally):
    heading(f"{preset}: test")
    directory = ROOT / "build" / preset
    results = directory / "test-results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    summary = results / "ctest.xml"
    run(["ctest", "--test-dir", str(directory), "--output-on-failure", "-j", str(jobs()),
         "--no-tests=error", "--output-junit", str(summary), *selection])
    if not summary.exists():
        tally.failed.append(f"{preset}: ctest")
        return
    entries = ElementTree.parse(summary).getroot().findall("testcase")
    if not entries:
        tally.failed.append(f"{preset}: no tests were found")
    for entry in entries:
        count_cases(entry, preset, results, tally)


def fuzz(tally):
    """Each target for a while, and that the kept corpora reach what they must. FRESHET_FUZZ_SECONDS makes it shorter or longer."""
    if not build("fuzz", "fuzz_targets", tally):
        return
    for name, script in (("targets", "run.py"), ("coverage of the corpora", "coverage.py")):
        heading(f"fuzz: {name}")
        if run([sys.executable, f"tests/fuzz/{script}"]):
            tally.passed += 1
        else:
            tally.failed.append(f"fuzz: {name}")


def slowest_units(presets):
    """The ten slowest compilations that the build logs remember. What ccache answers is fast."""
    times = {}
    for preset in presets:
        log = ROOT / "build" / preset / ".ninja_log"
        if not log.exists():
            continue
        for line in log.read_text().splitlines()[1:]:
            start, end, _, output, _ = line.split("\t")
            if output.endswith(".o"):
                times[f"{preset}: {output}"] = int(end) - int(start)
    return sorted(times.items(), key=lambda item: (-item[1], item[0]))[:10]


def main(arguments):
    everything = arguments == ["--all"]
    started = time.monotonic()
    tally = Tally()
    if everything and build("dev", "core_tests", tally):
        test("dev", ["-L", CORE_LABELS, "-LE", NOT_BY_DEFAULT], tally)
    if build("release", "all", tally):
        test("release", [] if everything else ["-LE", NOT_BY_DEFAULT], tally)
    if everything:
        if build("tsan", "concurrency_tests", tally):
            test("tsan", ["-L", "concurrency", "-LE", NOT_BY_DEFAULT], tally)
        build("analyze", "freshet_products", tally)
        fuzz(tally)
        heading("ten slowest translation units")
        for name, milliseconds in slowest_units(["dev", "release", "tsan", "analyze", "fuzz"]):
            print(f"{milliseconds / 1000:8.1f} s  {name}")
    heading(f"result, after {time.monotonic() - started:.0f} s")
    print("\n".join(tally.lines()))
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
