#pragma once

#include <string>
#include <vector>

#include "runtime/operators/source.h"

namespace freshet {

/// The lines of text files, without their `\n` or `\r\n`; each line exactly once, empty ones too.
/// `patterns` are files, directories and patterns as in path_pattern.h; they are looked up when the
/// job starts, in the TaskManager that runs the enumerator. Large files are cut into byte ranges
/// (`source.file.split-size`) and read by whoever is free, so that only one reader gives the lines
/// of a file in order. Files must not change while the job runs: bytes appended later are not read,
/// a file that shrinks or vanishes fails the job. A line may have up to 1 GiB.
///
/// Input that is missing or unreadable fails the job before it starts, with the path.
Source<std::string> text_files(std::vector<std::string> patterns);

}  // namespace freshet
