#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::chaos {

/// What can be wrong with a record of an output.
enum class RecordFault : uint8_t { kLost, kDoubled, kAltered, kInvented };
inline constexpr RecordFault kRecordFaults[] = {RecordFault::kLost, RecordFault::kDoubled,
                                                RecordFault::kAltered, RecordFault::kInvented};

/// `lost`, `doubled`, `altered`, `invented`.
std::string_view to_string(RecordFault);

/// Of each kind of fault so many are shown; all are counted.
inline constexpr size_t kShownMax = 100;
/// So much of each record.
inline constexpr size_t kShownBytesMax = 500;

/// A line of a file; none when `file` is empty.
struct RecordPlace {
  std::string file;
  uint64_t line = 0;  // From 1.
  bool operator==(const RecordPlace&) const = default;
};

/// One record that is wrong. Texts are as printable() makes them.
struct WrongRecord {
  RecordFault fault = RecordFault::kLost;
  std::string expected = {};        // Not of kInvented.
  RecordPlace expected_place = {};  // The first such line.
  std::string actual = {};          // Not of kLost.
  RecordPlace actual_place = {};
  uint64_t expected_copies = 1;
  uint64_t actual_copies = 0;

  /// One line: `lost: 'x' (part-0:3)`.
  std::string to_string() const;
  bool operator==(const WrongRecord&) const = default;
};

/// What was found of one output.
struct OutputVerdict {
  std::string name = {};  // Of the sink.
  uint64_t expected_records = 0;
  uint64_t actual_records = 0;
  /// Records, not lines that differ: 3 copies of a record that is expected once are 2 doubled ones.
  uint64_t counts[4] = {};
  std::vector<WrongRecord> shown = {};      // At most kShownMax of each kind, by kind.
  std::vector<std::string> leftovers = {};  // Files that the job should have removed.

  uint64_t count(RecordFault fault) const { return counts[static_cast<size_t>(fault)]; }
  bool exact() const;
  /// `1000 records, exact`, or `998 records instead of 1000: 2 lost`.
  std::string summary() const;
};

/// Whether the result of a run is right, and if not, what is wrong.
struct Verdict {
  std::string judge = {};  // `the undisturbed run`, `the checker of the job`.
  std::vector<OutputVerdict> outputs = {};

  bool exact() const;
};

/// A text that a terminal and a document can show: at most `bytes_max` bytes of it, and `\n`,
/// `\x1b`, `\\` for what has no picture or is no UTF-8.
std::string printable(std::string_view text, size_t bytes_max = kShownBytesMax);

}  // namespace freshet::chaos
