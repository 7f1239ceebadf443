#!/usr/bin/env python3
"""Runs the fuzz targets from their kept corpora, as libFuzzer programs of the fuzz preset.

    tests/fuzz/run.py [--seconds N] [--jobs N] [--found DIRECTORY] [--corpus DIRECTORY] [TARGET...]

Each target runs for N seconds (60, or the environment variable FRESHET_FUZZ_SECONDS). One line per target; code 1 when one of them
failed. New inputs and those that fail are kept in DIRECTORY/<target>/{corpus,failed} (build/fuzz/found); the kept corpora are only
read. `--keep` makes each corpus anew: the smallest set of files, of old and new ones, that covers as much.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# What one input may take. The memory that a target may ask for at once is far above all that its inputs justify, and far below
# what a size that is believed unseen asks for.
LIMITS = ["-max_len=8192", "-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=64"]
# Debian's package has it under no name that the sanitizers look for.
ENVIRONMENT = {**os.environ, "ASAN_SYMBOLIZER_PATH": "/usr/lib/llvm-14/bin/llvm-symbolizer"}
FILES_MAX = 60
FILE_BYTES_MAX = 4096


def targets(corpus):
    return sorted(path.name for path in corpus.iterdir() if path.is_dir())


def command(program, arguments):
    return ["nice", "-n", "10", str(program), *LIMITS, *arguments]


class Runs:
    """The programs that run, so that they can be ended."""

    def __init__(self, options):
        self.options = options
        self.running = set()
        self.stopping = False

    def fuzz(self, target):
        """The line to print, and whether it failed."""
        found = self.options.found / target
        (found / "corpus").mkdir(parents=True, exist_ok=True)
        (found / "failed").mkdir(parents=True, exist_ok=True)
        before = set((found / "failed").iterdir())
        log = found / "log"
        with log.open("w") as output:
            if self.stopping:
                return f"{target}: not run", False
            process = subprocess.Popen(
                command(self.options.programs / f"fuzz_{target}",
                        [f"-max_total_time={self.options.seconds}", f"-artifact_prefix={found}/failed/",
                         "-print_final_stats=1", str(found / "corpus"), str(self.options.corpus / target)]),
                stdout=output, stderr=subprocess.STDOUT, cwd=found, env=ENVIRONMENT, start_new_session=True)
            self.running.add(process)
        code = process.wait()
        self.running.discard(process)
        text = log.read_text(errors="replace")
        if code == 0 or self.stopping:
            runs = re.search(r"stat::number_of_executed_units: (\d+)", text)
            peak = re.search(r"stat::peak_rss_mb: +(\d+)", text)
            return f"{target}: {runs[1] if runs else '?'} inputs, {peak[1] if peak else '?'} MB at most", False
        failed = sorted(set((found / "failed").iterdir()) - before)
        why = re.search(r"^.*(CHECK failed|runtime error|ERROR: ).*$", text, re.MULTILINE)
        lines = [f"{target}: FAILED: {why[0] if why else f'exit code {code}'}", f"  all of it: {log}"]
        lines += [f"  {self.options.programs / f'fuzz_{target}'} {path}" for path in failed]
        return "\n".join(lines), True

    def stop(self):
        self.stopping = True
        for process in list(self.running):
            process.send_signal(signal.SIGINT)


def chosen_files(control, files_max, kept=()):
    """The files of a merge that reach the most together and beside those kept, by what libFuzzer's control file says of each."""
    lines = control.splitlines()
    count = int(lines[0])
    files = lines[2:2 + count]
    reaches = {}
    for line in lines[2 + count:]:
        words = line.split()
        if words[0] == "FT":
            reaches[files[int(words[1])]] = set(words[2:])
    chosen = []
    for path in kept:
        known = reaches.pop(path, set())
        for features in reaches.values():
            features -= known
    while len(chosen) + len(kept) < files_max:
        # The smaller of two that bring as much.
        best = max(reaches, key=lambda path: (len(reaches[path]), -os.path.getsize(path)), default=None)
        if best is None or not reaches[best]:
            break
        chosen.append(best)
        new = reaches.pop(best)
        for features in reaches.values():
            features -= new
    return chosen


def keep(options, target):
    """Makes the corpus anew of what it had and what was found."""
    sources = [path for path in (options.corpus / target, options.found / target / "corpus") if path.is_dir()]
    with tempfile.TemporaryDirectory() as scratch:
        control = pathlib.Path(scratch) / "control"
        (pathlib.Path(scratch) / "merged").mkdir()
        # Which edges are reached, not how often.
        arguments = ["-set_cover_merge=1", f"-merge_control_file={control}", "-use_counters=0", "-use_cmp=0",
                     f"-max_len={FILE_BYTES_MAX}", f"{scratch}/merged", *map(str, sources)]
        subprocess.run(command(options.programs / f"fuzz_{target}", arguments), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=scratch)
        # What once failed stays, and so does what sound peers say.
        kept = sorted(path for kind in ("failed-*", "seed-*") for path in (options.corpus / target).glob(kind))
        contents = {path.read_bytes(): path.name for path in kept}
        for path in map(pathlib.Path, chosen_files(control.read_text(), FILES_MAX, [str(path) for path in kept])):
            contents.setdefault(path.read_bytes()[:FILE_BYTES_MAX], path.name[:12])
        shutil.rmtree(options.corpus / target)
        (options.corpus / target).mkdir()
        for content, name in contents.items():
            (options.corpus / target / name).write_bytes(content)
        return f"{target}: {len(contents)} files, {sum(map(len, contents))} bytes"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("FRESHET_FUZZ_SECONDS", "60")))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/fuzz/bin")
    parser.add_argument("--corpus", type=pathlib.Path, default=HERE / "corpus")
    parser.add_argument("--found", type=pathlib.Path, default=ROOT / "build/fuzz/found")
    parser.add_argument("--keep", action="store_true", help="make the corpora anew of what was found, instead of fuzzing")
    parser.add_argument("target", nargs="*")
    options = parser.parse_args(arguments)
    options.programs, options.corpus, options.found = (
        path.resolve() for path in (options.programs, options.corpus, options.found))
    chosen = options.target or targets(options.corpus)
    unknown = set(chosen) - set(targets(options.corpus))
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(targets(options.corpus))}")
    if options.keep:
        for target in chosen:
            print(keep(options, target), flush=True)
        return 0
    runs = Runs(options)
    signal.signal(signal.SIGTERM, lambda *_: runs.stop())
    signal.signal(signal.SIGINT, lambda *_: runs.stop())
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, bad in pool.map(runs.fuzz, chosen):
            print(line, flush=True)
            failed += bad
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
